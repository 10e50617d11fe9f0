"""What `make test` runs: is everything in step, does every module import, do all notebooks pass? Each check counts once.

usage: check.py [--no-notebooks | --notebooks] [--workers N]
"""
import argparse, json, os, re, shutil, subprocess, sys, tempfile, time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from filecmp import cmp
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "docs")]
import api, nbs, quarto_myst
from nbs import NBS, ROOT

BIN = Path(sys.executable).parent
LIMIT = int(os.environ.get("NOTEBOOK_SECONDS", 600))
SLOW = 15
# Absolute folders of whoever built the page have no place in it.
MACHINE = re.compile(r"(?<![\w./:-])/(?:work|root|home|tmp|Users)/[\w.-]+")
EDITED = "{} does not match nbs/: it is generated, so edit the notebook (the header of the file names it), then `make export`"


def _run(*command, cwd=ROOT, **env):
    "Run a command; its output and whether it succeeded."
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout, done.returncode == 0


def cells():
    "Every cell of every notebook, with the notebook's name."
    for path in sorted(NBS.glob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]: yield path.name, cell, "".join(cell["source"])


def check_modules():
    "modules are what the notebooks export"
    with tempfile.TemporaryDirectory() as tmp:
        copy = Path(tmp) / "book"
        shutil.copytree(NBS, copy / "nbs", ignore=shutil.ignore_patterns("data", "results", ".*"))
        shutil.copy(ROOT / "settings.ini", copy)
        output, ok = _run(BIN / "nbdev_export", cwd=copy)
        if not ok: return [output]
        fresh, kept = ({p.name for p in (d / "dplit").glob("*.py")} - {"_modidx.py"} for d in (copy, ROOT)) # nbdev's index, not kept
        bad = [EDITED.format(f"dplit/{n}") for n in sorted(fresh & kept) if not cmp(copy / "dplit" / n, ROOT / "dplit" / n, shallow=False)]
        return bad + [f"dplit/{n} is missing: `make export`" for n in sorted(fresh - kept)] + [
            f"dplit/{n} comes from no notebook: delete it, or write the notebook" for n in sorted(kept - fresh)]


def check_targets():
    "no two notebooks export to one module"
    found = Counter(match[1] for _, cell, text in cells() if cell["cell_type"] == "code" and (match := re.search(r"^#\|\s*default_exp\s+(\S+)", text, re.M)))
    return [f"default_exp {name} stands in {count} notebooks" for name, count in found.items() if count > 1]


def check_clean():
    "notebooks are clean"
    with tempfile.TemporaryDirectory() as tmp:
        copy = Path(tmp) / "nbs"
        shutil.copytree(NBS, copy, ignore=shutil.ignore_patterns("data", "results", ".*"))
        shutil.copy(ROOT / "settings.ini", tmp)
        output, ok = _run(BIN / "nbdev_clean", cwd=tmp)
        return ([] if ok else [output]) + [f"nbs/{p.name}: `make clean-notebooks`" for p in sorted(NBS.glob("*.ipynb"))
                                           if not cmp(p, copy / p.name, shallow=False)]


def check_errors():
    "no notebook stores an error"
    return [f"nbs/{name}: {output['ename']}: {output['evalue']}" for name, cell, _ in cells() for output in cell.get("outputs", [])
            if output["output_type"] == "error"]


def check_paths():
    "nothing names a folder of the machine that built it"
    texts = [(name, text + "".join("".join(o.get("text", "")) + "".join(o.get("data", {}).get("text/plain", "")) for o in cell.get("outputs", [])))
             for name, cell, text in cells()]
    files = [p for pattern in ("*.md", "*.ini", "*.yml", "Makefile", "docs/*.*", ".ci/*", "nbs/results/*.*") for p in ROOT.glob(pattern)]
    texts += [(str(p.relative_to(ROOT)), p.read_text(errors="ignore")) for p in files if p.suffix not in {".png", ".gz", ".npz"}]
    return [f"{name}: {match[0]}" for name, text in texts for match in MACHINE.finditer(text)]


def _stale(files, how):
    return [f"{path} is not what the notebooks say: `{how}`" for path, content in files.items()
            if not (ROOT / path).exists() or (ROOT / path).read_bytes() != content]


def check_readme():
    "README.md is what nbs/index.ipynb says"
    return _stale(nbs.readme(), "make readme")


def check_toc():
    "the tables of contents list the notebooks present"
    return _stale(nbs.toc(), "make toc")


def check_labels():
    "labels are unique in the book, references and citations have a target"
    labels, used = {}, {}
    keys = set(re.findall(r"^@\w+\{([^,\s]+),", (NBS / "references.bib").read_text(), re.M))
    for name, cell, text in cells():
        if cell["cell_type"] == "code":
            found, _ = quarto_myst.directives(text)
            if found.get("label", "").startswith("fig-"): labels.setdefault(found["label"], []).append(name)
            text = found.get("fig-cap", "")
        else:
            for label in re.findall(r"\{#([\w-]+)", quarto_myst._CODE.sub("", text)): labels.setdefault(label, []).append(name)
        text = quarto_myst.markdown(text)
        for role, body in re.findall(r"\{(numref|eq|ref|cite:[pt])\}`([^`]+)`", text):
            for target in body.split(",") if role.startswith("cite") else [body]:
                target = re.sub(r"\{[^}]*\}", "", target).strip(" <>")
                if role.startswith("cite") and target not in keys: used[target] = f"nbs/{name}: [@{target}] is not in nbs/references.bib"
                elif not role.startswith("cite"): used.setdefault(target, f"nbs/{name}: nothing is labelled {target}")
    return [f"label {label} stands in {', '.join(where)}" for label, where in labels.items() if len(where) > 1] + [
        message for target, message in used.items() if target not in labels]


def anchors():
    "NAME#anchor of every heading: its label, the label without `sec-`, and the slug of its title."
    found = set()
    for name, cell, text in cells():
        if cell["cell_type"] != "markdown": continue
        for title, label in re.findall(r"^#+[ \t]+(.*?)[ \t]*(?:\{#([\w-]+)[^}]*\})?[ \t]*$", text, re.M):
            slug = re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")
            found |= {f"{name[:-6]}#{a}" for a in (slug, label, label.removeprefix("sec-")) if a}
    return found


def check_proofs():
    "every claim points to a section that exists"
    known, exported = anchors(), [(name, text) for name, cell, text in cells() if cell["cell_type"] == "code" and re.search(r"^#\|\s*export", text, re.M)]
    return sorted({f"nbs/{name}: {target} names no section" for name, text in exported
                   for target in re.findall(r"[\"'](\d\d_\w+#[\w-]+)[\"']", text) if target not in known})


def check_filter():
    "the site's filter turns Quarto's syntax into MyST's, and nbdev's into Quarto's"
    md, quarto, problems = quarto_myst.markdown, quarto_myst.to_quarto, []
    pairs = [("by @dong2022", "by {cite:t}`dong2022`"), ("[@a1, Theorem 3; see @b2]", "{cite:p}`a1{Theorem 3},{see}b2`"),
             ("@fig-x and Figure @fig-x", "{numref}`fig-x` and Figure {numref}`{number} <fig-x>`"),
             ("by @eq-x", "by Equation {eq}`eq-x`"), ("equation @eq-x", "equation {eq}`eq-x`"), ("[-@eq-x]", "{eq}`eq-x`"),
             ("see @sec-x", "see {ref}`sec-x`"), ("[a](12_x.ipynb#sec-y)", "[a](#sec-y)"), ("`@fig-x` a@b.org", "`@fig-x` a@b.org"), ("$x_@y$", "$x_@y$"),
             ("a\n$$x$$ {#eq-x}\nb", "a\n\n\n$$\nx\n$$ (eq-x)\n\n\nb"), ("## T {#sec-x}", "(sec-x)=\n## T"),
             ("<details><summary>Solution</summary>\n\nx\n\n</details>", "\n:::::{dropdown} Solution\nx\n:::::\n")]
    problems += [f"{text!r} became {md(text)!r}, not {wanted!r}" for text, wanted in pairs if md(text) != wanted]
    cell = lambda source, **more: dict(cell_type="code", source=source, metadata={}, outputs=[], **more)
    book = dict(cells=[cell("#| hide\nimport x"), cell("#| default_exp y"), cell("#| export\nx = 1\ny = 2"),
                       cell("test_eq(x, 1)\nwith expect_fail(ValueError, contains='z'): f()"),
                       cell('#| label: fig-x\n#| fig-cap: "A $x$."\nplot()'), cell("test_eq(x, 1)\nprint(x)")])
    first, tests, figure, mixed = quarto_myst.to_myst(json.loads(json.dumps(book)))["cells"]
    if first["source"] != "x = 1\ny = 2": problems.append(f"directives stay: {first['source']!r}")
    if tests["metadata"]["tags"] != ["hide-input"] or mixed["metadata"]["tags"]: problems.append("cells of tests only, and no others, must be folded")
    if figure["metadata"]["mystnb"]["figure"] != {"name": "fig-x", "caption": "A $x$."}: problems.append("figure label or caption lost")
    sources = [c["source"] for c in quarto(book)["cells"]]
    if sources[0] != ["x = 1\n", "y = 2"] or sources[1][0] != "#| code-fold: true\n" or sources[2][0] != "#| label: fig-x\n":
        problems.append(f"the filter for Quarto wrote {sources}")
    script = subprocess.run([sys.executable, ROOT / "docs/quarto_myst.py"], input=json.dumps(book), capture_output=True, text=True)
    if script.returncode or json.loads(script.stdout) != quarto(book): problems.append("as a script it writes something else")
    return problems


def check_imports():
    "every module imports"
    names = ["dplit"] + [f"dplit.{p.stem}" for p in sorted((ROOT / "dplit").glob("*.py")) if p.stem not in {"__init__", "_modidx"}]
    code = "import importlib, sys, traceback\nfor name in sys.argv[1:]:\n    try: importlib.import_module(name)\n    except Exception: traceback.print_exc(); bad = 1\nsys.exit('bad' in globals())"
    output, ok = _run(sys.executable, "-c", code, *names)
    return [] if ok else [output]


def check_links():
    "links between the pages lead to files and sections that exist"
    texts = [(f"nbs/{name}", quarto_myst._CODE.sub("", text)) for name, cell, text in cells() if cell["cell_type"] == "markdown"]
    texts += [(name, quarto_myst._CODE.sub("", (ROOT / name).read_text())) for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
    known = anchors()
    return [f"{name}: {target} does not exist" for name, text in texts for target in re.findall(r"\]\((?![a-z]+:|#)([^)\s]+)[^)]*\)", text)
            if not (ROOT / name).parent.joinpath(target.split("#")[0]).exists()
            or (".ipynb#" in target and Path(target).name.replace(".ipynb#", "#") not in known)]


def check_api():
    "every public name has a docstring, a meaning for each parameter and an example"
    return api.missing()


def check_numbers():
    "every number in prose is computed by a cell of its notebook"
    return [f"nbs/{name}.ipynb: no cell computes the {number} of its prose" for name, number in nbs.numbers()]


def check_licenses():
    "every data file is named, with its source and license, in the README beside it"
    folders = [ROOT / "dplit/data", NBS / "data", *(p for p in (NBS / "data").glob("*/") if p.is_dir())]
    return [f"{path.relative_to(ROOT)} is not in the README.md beside it" for folder in folders for path in sorted(folder.glob("*"))
            if path.is_file() and path.name != "README.md" and path.name not in (folder / "README.md").read_text()]


def check_notebook(path):
    output, ok = _run("timeout", "-k", "10", str(LIMIT), BIN / "nbdev_test", "--path", path, PYTHONPATH=str(ROOT))
    return [] if ok else [output if output.strip() else f"no answer within {LIMIT} s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-notebooks", action="store_true", help="only the quick checks")
    parser.add_argument("--notebooks", action="store_true", help="only the notebooks")
    parser.add_argument("--workers", type=int, default=2)
    args, start = parser.parse_args(), time.time()
    for pool in ("OMP", "OPENBLAS", "MKL"): os.environ.setdefault(f"{pool}_NUM_THREADS", "1")
    steps = [(check.__doc__, check, ()) for name, check in globals().items() if name.startswith("check_") and check.__doc__]
    if args.notebooks: steps.clear()
    if not args.no_notebooks: steps += [(f"nbs/{p.name}", check_notebook, (p,)) for p in sorted(NBS.glob("*.ipynb"))]

    def timed(step):
        begun = time.time()
        try: problems = step[1](*step[2])
        except Exception as error: problems = [f"{type(error).__name__}: {error}"]
        return problems, time.time() - begun

    failed = 0
    with ThreadPoolExecutor(args.workers) as pool:
        for step, (problems, seconds) in zip(steps, pool.map(timed, steps)):
            failed += bool(problems)
            note = "  (slow)" if seconds > SLOW else ""
            print(f"{'FAIL' if problems else 'ok  '} {seconds:6.1f} s  {step[0]}{note}", flush=True)
            for problem in problems: print("    " + problem.rstrip().replace("\n", "\n    "), flush=True)
    remarks = [f"{row['notebook']}: {row['remarks']}" for row in nbs.style() if row["remarks"]]
    if remarks and not args.notebooks: print("for information only, house style:", *remarks, sep="\n  ")
    print(f"{time.time() - start:.0f} s")
    print(f"{len(steps) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__": main()
