"""Notebooks without Quarto: execute them in place, write the README and the tables of contents, check that all are in step.

usage: nbs.py execute [NAME ...] [--slow] | readme | toc | style | numbers | runtime | tools
"""
import argparse, os, re, sys, time
from base64 import b64decode
from concurrent.futures import ProcessPoolExecutor
from configparser import ConfigParser
from functools import partial
from pathlib import Path
import nbformat
import api

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
# Figures at twice the resolution, without background and in a gray that reads on light and dark pages.
GRAY = dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color", "legend.labelcolor"], "#888888")
FIGURES = ["--Application.log_level=ERROR", "--InlineBackend.figure_formats={'retina'}", f"--InlineBackend.rc={dict(GRAY) | {'figure.facecolor': 'none', 'axes.facecolor': 'none'}}"]
SKIPPED = re.compile(r"^#\|\s*(slow|notest|eval:\s*false)\b", re.M)
PARTS = {"0": "Foundations", "1": "Graphs", "2": "k-means", "3": "Modes", "4": "Practice", "5": "Experiments", "6": "How-tos", "7": "Stories"}
PAGES = {"docs/references": "References", "nbs/data/README": "Data", "CHANGELOG": "Changes", "CONTRIBUTING": "Contributing", "SECURITY": "Security"}


def names():
    "Notebooks of the book in reading order, without index."
    return sorted(p.stem for p in NBS.glob("[0-9]*.ipynb"))


def _execute(name, slow):
    "Run one notebook in place (directory nbs/); skipped cells keep their stored outputs. Returns what went wrong, or nothing."
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    path = NBS / f"{Path(name).stem}.ipynb"
    notebook = nbformat.read(path, 4)
    client = NotebookClient(notebook, timeout=3600 if slow else 600, kernel_name="python3",
                            resources={"metadata": {"path": str(NBS)}}, extra_arguments=FIGURES)
    try:
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code" and (slow or not SKIPPED.search(cell.source)): client.execute_cell(cell, index)
    except CellExecutionError as error: return f"{path.name}: cell {index} failed, the file is unchanged\n{error}"
    for cell in notebook.cells:
        for output in cell.get("outputs", []):    # a warning names its cell by process, a difference at every run
            if "text" in output: output["text"] = re.sub(r"\S*ipykernel_\d+/\d+\.py", "cell", output["text"])
    nbformat.write(notebook, path)


def execute(which, slow=False):
    "Run notebooks in place, two at a time; returns whether all passed."
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    problems, start, which = 0, time.time(), which or ["index", *names()]
    with ProcessPoolExecutor(2) as pool:
        for name, problem in zip(which, pool.map(partial(_execute, slow=slow), which)):
            problems += bool(problem)
            print(problem or f"{name}: run", f"({time.time() - start:.0f} s)", flush=True)
    return not problems


def _links(text):
    "Links that hold in nbs/ as links that hold one level up."
    text = re.sub(r"\]\((?![a-z]+:|#|/|\.\./)([^)]+)\)", r"](nbs/\1)", text)
    return text.replace("](../", "](")


def readme():
    "README.md and its pictures, as a dict path -> bytes, from nbs/index.ipynb."
    files, out = {}, []
    for cell in nbformat.read(NBS / "index.ipynb", 4).cells:
        source = cell.source
        if cell.cell_type == "markdown":
            out.append(_links(source))
            continue
        if re.search(r"^#\|\s*hide\b", source, re.M): continue
        alt = re.search(r"^#\|\s*fig-(?:alt|cap):\s*[\"']?(.*?)[\"']?$", source, re.M)
        code = "\n".join(line for line in source.split("\n") if not line.startswith("#|")).strip()
        if not re.search(r"^#\|\s*echo:\s*false", source, re.M): out.append(f"```python\n{code}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                image = f"docs/images/readme-{len(files) + 1}.png"
                files[image] = b64decode(data["image/png"])
                out.append(f"![{alt[1] if alt else ''}]({image})")
            elif "text/markdown" in data: out.append(_links(data["text/markdown"]))
            elif text := output.get("text") or data.get("text/plain"): out.append(f"```text\n{text.rstrip()}\n```")
    note = "<!-- Written from nbs/index.ipynb by `make readme`; edit the notebook. -->"
    files["README.md"] = ("\n\n".join([out[0], note, *out[1:]]) + "\n").encode()
    return files


def toc():
    "_toc.yml and _quarto.yml, as a dict path -> bytes, from the notebooks present."
    parts = {title: [n for n in names() if n[0] == digit] for digit, title in PARTS.items()}
    site = ["# Written by `make toc` from the notebooks present.", "format: jb-book", "root: nbs/index", "parts:"]
    book = []
    for title, chapters in parts.items():
        if not chapters: continue
        site += [f"- caption: {title}", "  chapters:"] + [f"  - file: nbs/{n}" for n in chapters]
        book += [f"    - part: {title}", "      chapters:"] + [f"        - nbs/{n}.ipynb" for n in chapters]
    site += ["- caption: The project", "  chapters:", "  - file: docs/api/index", "    sections:"] + [f"    - file: docs/api/{m}" for m in api.modules()]
    pages = {page: title for page, title in PAGES.items() if (ROOT / f"{page}.md").exists()}
    for page, title in pages.items(): site += [f"  - file: {page}", f"    title: {title}"]
    quarto = (ROOT / "docs/_quarto.head.yml").read_text() + "\n".join(["book:", "  title: dplit", "  chapters:", "    - index.qmd", *book]) + "\n"
    return {"_toc.yml": ("\n".join(site) + "\n").encode(), "_quarto.yml": quarto.encode()}


def write(files):
    "Write what changed, and nothing else."
    for path, content in files.items():
        target = ROOT / path
        if target.exists() and target.read_bytes() == content: continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        print("wrote", path)


def style():
    "How each notebook keeps to the house style, as table rows."
    sys.path.insert(0, str(ROOT / "docs"))
    from quarto_myst import directives
    for name in names():
        prose, exported, tests = 0, [], 0
        for cell in nbformat.read(NBS / f"{name}.ipynb", 4).cells:
            if cell.cell_type == "markdown": prose += len(cell.source.split()); continue
            found, code = directives(cell.source)
            lines = [line for line in code.split("\n") if line.strip()]
            if found.keys() & {"export", "exporti", "exports"}:
                if not all(line.startswith(("import ", "from ", " ", ")")) for line in lines): exported.append(len(lines))
            elif re.search(r"\b(test_\w+\(|assert |expect_fail)", code): tests += len(lines)
        total = sum(exported)
        row = dict(notebook=name, exported=total, median=sorted(exported)[len(exported) // 2] if exported else 0, longest=max(exported, default=0),
                   tests=tests, words=prose)
        row["remarks"] = ", ".join(remark for remark, bad in {
            "more than 250 exported lines": total > 250, "median cell over 8 lines": row["median"] > 8, "a cell over 30 lines": row["longest"] > 30,
            "fewer test lines than a third": tests < total / 3, "fewer than 3 words a line": prose < 3 * total}.items() if bad)
        yield row


# A place in a document, such as "Lemma 4.3 and 4.4", is a citation.
_PLACES = r"(?:Section|Lemma|Theorem|Definition|Proposition|Corollary|Assumption|Algorithm|Table|Figure|Chapter|Equation|Remark)s?[ ~](?:[A-Z]\.)?[\d.]+\d?(?:\s*(?:,|and|to|or|–|-)\s*(?:[A-Z]\.)?\d[\d.]*)*"


def numbers():
    "Numbers in prose that neither code nor output of the notebook contains; years, citations, places in documents, formulas and code spans do not count."
    sys.path.insert(0, str(ROOT / "docs"))
    from quarto_myst import _CODE, _INLINE
    for name in names():
        cells = nbformat.read(NBS / f"{name}.ipynb", 4).cells
        known = "\n".join(c.source + "".join(o.get("text", "") + o.get("data", {}).get("text/plain", "") for o in c.get("outputs", [])) for c in cells if c.cell_type == "code")
        known = {float(n.replace("_", "").replace(",", "")) for n in re.findall(r"\d[\d_,]*\.?\d*(?:e[+-]?\d+)?|\.\d+", known)}
        for cell in cells:
            if cell.cell_type != "markdown": continue
            text = re.sub(_PLACES, " ", cell.source)
            text = re.sub(r"\$\$.*?\$\$|\[@[^\]]*\]|\]\([^)]*\)|\{#[^}]*\}|^#+ .*$|^\s*\d+\. ", " ", _INLINE.sub(" ", _CODE.sub(" ", text)), flags=re.S | re.M)
            for number in re.findall(r"(?<![\w.])(?:\d[\d,]*\.\d+|\.\d+|\d{3,}|\d{1,3}(?:,\d{3})+)(?![\w])", text):
                value, digits = float(number.replace(",", "")), len(number.split(".")[1]) if "." in number else 0
                if not 1800 < value < 2100 and not any(abs(value - scale * k) <= .5 * 10**-digits * 1.001 for k in known for scale in (1, 100)): yield name, number


def requirements(which):
    "The runtime requirements, or the `tools` of the notebooks' tests: those for development without what only the site needs."
    settings = ConfigParser(delimiters=["="], interpolation=None)
    settings.read(ROOT / "settings.ini")
    if which == "runtime": return settings["DEFAULT"]["requirements"].split()
    return [r for r in settings["DEFAULT"]["dev_requirements"].split() if not r.startswith(("jupyter", "sphinx", "websocket"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["execute", "readme", "toc", "style", "numbers", "runtime", "tools"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--slow", action="store_true", help="run cells marked slow, notest and eval: false too")
    args = parser.parse_args()
    if args.command == "execute": sys.exit(not execute(args.names, args.slow))
    if args.command == "readme": write(readme())
    if args.command in {"runtime", "tools"}: print(*requirements(args.command))
    if args.command == "toc": write(toc())
    if args.command == "numbers":
        for name, number in numbers(): print(name, number)
    if args.command == "style":
        for row in style(): print("{notebook:22} {exported:4} lines, median {median:2}, longest {longest:3}, {tests:3} tests, {words:5} words  {remarks}".format(**row))


if __name__ == "__main__": main()
