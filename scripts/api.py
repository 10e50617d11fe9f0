"""The API reference: one page for each module, from signatures, docments and docstrings. Writes docs/api/ (not under version control).

usage: api.py [--missing]
"""
import ast, json, re, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from quarto_myst import _prose

API = ROOT / "docs/api"


def modules():
    "Names of the modules in the order of their notebooks, each with the name of the notebook."
    found = {}
    for path in sorted((ROOT / "nbs").glob("[0-9]*.ipynb")):
        if match := re.search(r"#\|\s*default_exp\s+(\w+)", path.read_text()): found[match[1]] = path.stem
    return {name: notebook for name, notebook in found.items() if name != "__init__"}


def _plain(text):
    "Text that Markdown leaves alone, code spans kept."
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part.replace("|", r"\|") if part.startswith("`") else _prose(re.sub(r"([\\*<|$\[\]_{}])", r"\\\1", part)) for part in parts)


def _code(node):
    return f"`{ast.unparse(node)}`".replace("|", r"\|") if node is not None else ""


def _comment(lines, number):
    "The docment that ends a line."
    match = re.search(r"\s#\s+(.*)$", lines[number - 1])
    return match[1] if match else ""


def signature(node):
    "The call as a reader writes it, without types."
    args, parts = node.args, []
    plain = args.posonlyargs + args.args
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    for arg, default in zip(plain, defaults): parts.append(arg.arg + (f"={ast.unparse(default)}" if default is not None else ""))
    if args.vararg: parts.append("*" + args.vararg.arg)
    elif args.kwonlyargs: parts.append("*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults): parts.append(arg.arg + (f"={ast.unparse(default)}" if default is not None else ""))
    if args.kwarg: parts.append("**" + args.kwarg.arg)
    return [part for part in parts if part not in {"self", "cls"}]


def _table(rows):
    if not rows: return ""
    return "\n".join(["| parameter | type | default | meaning |", "|---|---|---|---|"] + [f"| {' | '.join(row)} |" for row in rows]) + "\n\n"


def parameters(node, lines):
    "Rows name, type, default, meaning of a function's parameters."
    args = node.args
    plain = args.posonlyargs + args.args
    defaults = dict(zip([a.arg for a in plain[len(plain) - len(args.defaults):]], args.defaults))
    defaults |= {a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults)}
    rows = [(f"`{a.arg}`", _code(a.annotation), _code(defaults.get(a.arg)), _plain(_comment(lines, a.end_lineno)))
            for a in [*plain, args.vararg, *args.kwonlyargs, args.kwarg] if a is not None and a.arg not in {"self", "cls"}]
    return rows


def returns(node, lines):
    "The meaning of the result: the comment on the line that ends the head."
    head_end = node.body[0].lineno - 1
    last = max([node.lineno] + [a.end_lineno for a in [*node.args.args, *node.args.kwonlyargs]])
    said = next((_comment(lines, n) for n in range(max(last, node.lineno + (last > node.lineno)), head_end + 1) if lines[n - 1].lstrip().startswith(")")), "")
    kind = _code(node.returns)
    return f"**Returns** {kind}{': ' if kind and said else ''}{_plain(said)}\n\n" if kind or said else ""


def _call(name, parts):
    text = f"{name}({', '.join(parts)})"
    return text if len(text) <= 90 else f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def function(node, lines, name, level):
    call = _call(name, signature(node))
    doc = ast.get_docstring(node) or ""
    return f"{'#' * level} `{name}`\n\n```python\n{call}\n```\n\n{_plain(doc)}\n\n{_table(parameters(node, lines))}{returns(node, lines)}"


def klass(node, lines):
    "A class: its parameters or fields, then its public methods."
    body = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and not n.target.id.startswith("_")]
    init = body.get("__init__")
    rows = parameters(init, lines) if init else [(f"`{f.target.id}`", _code(f.annotation), _code(f.value), _plain(_comment(lines, f.end_lineno))) for f in fields]
    call = _call(node.name, signature(init) if init else [f.target.id + (f"={ast.unparse(f.value)}" if f.value else "") for f in fields])
    bases = ", ".join(_code(b) for b in node.bases)
    text = f"## `{node.name}`\n\n```python\n{call}\n```\n\n{_plain(ast.get_docstring(node) or '')}\n\n" + _table(rows)
    if bases: text += f"Extends {bases}.\n\n"
    for name, method in body.items():
        if name.startswith("_"): continue
        if any(getattr(d, "id", "") == "property" for d in method.decorator_list):
            text += f"### `{node.name}.{name}`\n\n{_plain(ast.get_docstring(method) or _comment(lines, method.lineno))}\n\n"
        else: text += function(method, lines, f"{node.name}.{name}", 3)
    return text


def public(tree):
    "The public functions and classes of a module; methods that are attached below their class (`Class.name = function`) join it."
    nodes = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    for node in tree.body:
        if not isinstance(node, ast.Assign): continue
        called = node.value.args[0] if isinstance(node.value, ast.Call) and node.value.args else node.value
        method = nodes.get(getattr(called, "id", ""))
        for target in node.targets:
            owner = nodes.get(getattr(getattr(target, "value", None), "id", ""))
            if isinstance(owner, ast.ClassDef) and isinstance(method, ast.FunctionDef):
                owner.body.append(ast.FunctionDef(**{**dict(ast.iter_fields(method)), "name": target.attr}, lineno=method.lineno))
    methods = {n.name for n in nodes.values() if isinstance(n, ast.FunctionDef) and n.args.args and n.args.args[0].arg == "self"}
    return [node for name, node in nodes.items() if not name.startswith("_") and name not in methods]


def _uses(notebook):
    "The cells of a notebook that are not exported, as the statements of which they consist."
    book, found = json.loads((ROOT / f"nbs/{notebook}.ipynb").read_text()), []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or re.search(r"^#\|\s*exports?i?\b", source, re.M): continue
        source = "\n".join("" if line.startswith(("#|", "%")) else line for line in source.split("\n"))
        found += [(node, ast.get_source_segment(source, node)) for node in ast.parse(source).body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    return found


def example(name, uses):
    "The first short statement of the notebook that uses a name, else nothing."
    for longest, refusals in ((2, False), (6, False), (6, True)):
        for node, text in uses:
            if refusals == ("expect_fail" in text) and text.count("\n") < longest and max(map(len, text.split("\n"))) < 180 and any(getattr(n, "id", "") == name for n in ast.walk(node)):
                return f"**Example**\n\n```python\n{text}\n```\n\n"
    return ""


def page(name, notebook):
    "The reference of one module, and the rows of its names for the index."
    uses = _uses(notebook)
    text = (ROOT / f"dplit/{name}.py").read_text()
    tree, lines = ast.parse(text), text.split("\n")
    out, rows = [f"(api-{name})=\n# `dplit.{name}`\n\n{_plain(ast.get_docstring(tree) or '')}\n\nWritten in {{doc}}`../../nbs/{notebook}`.\n"], []
    for node in public(tree):
        doc = (ast.get_docstring(node) or "").split("\n")[0]
        anchor = node.name.lower()
        rows.append(f"| [`{node.name}`]({name}.md#{anchor}) | {_plain(doc)} |")
        out.append((klass(node, lines) if isinstance(node, ast.ClassDef) else function(node, lines, node.name, 2)) + example(node.name, uses))
    constants = [node for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "_").isupper() and not node.targets[0].id.startswith("_")]
    if constants:
        out.append("## Constants\n\n| name | value | meaning |\n|---|---|---|\n" + "\n".join(
            f"| `{n.targets[0].id}` | {_code(n.value) if len(ast.unparse(n.value)) < 60 else ''} | {_plain(_comment(lines, n.lineno))} |" for n in constants) + "\n")
    return "\n".join(out), rows


def missing():
    "Public names without a docstring, parameters without a meaning, names that their notebook never uses outside the export."
    problems = []
    for name, notebook in modules().items():
        text = (ROOT / f"dplit/{name}.py").read_text()
        tree, lines = ast.parse(text), text.split("\n")
        book = json.loads((ROOT / f"nbs/{notebook}.ipynb").read_text())
        used = "\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code" and not re.search(r"^#\|\s*exports?i?\b", "".join(c["source"]), re.M))
        for node in public(tree):
            where = f"dplit.{name}.{node.name}"
            if not ast.get_docstring(node): problems.append(f"{where}: no docstring")
            if not re.search(rf"\b{node.name}\b", used): problems.append(f"{where}: no example in {notebook}")
            heads = [node] if isinstance(node, ast.FunctionDef) else [n for n in node.body if isinstance(n, ast.FunctionDef) and (n.name == "__init__" or not n.name.startswith("_"))]
            for head in heads:
                if head is not node and head.name != "__init__" and not ast.get_docstring(head) and not _comment(lines, head.lineno): problems.append(f"{where}.{head.name}: no docstring")
                problems += [f"{where}{'' if head is node else '.' + head.name}: parameter {row[0]} has no meaning" for row in parameters(head, lines) if not row[3]]
    return problems


def write():
    API.mkdir(exist_ok=True)
    index = ["(api)=\n# API\n\nEvery public name, from the same source as the code. The estimators and what belongs to them are found at the top level:\n"
             "`from dplit import KMeans`. Everything else is imported from its module.\n"]
    pages = {}
    for name, notebook in modules().items():
        pages[name], rows = page(name, notebook)
        if rows: index.append(f"## [`dplit.{name}`]({name}.md)\n\n| name | what it does |\n|---|---|\n" + "\n".join(rows) + "\n")
    pages["index"] = "\n".join(index)
    for old in API.glob("*.md"):
        if old.stem not in pages: old.unlink()
    for name, text in pages.items():
        path = API / f"{name}.md"
        if not path.exists() or path.read_text() != text: path.write_text(text)


if __name__ == "__main__":
    if "--missing" in sys.argv: print(*missing(), sep="\n")
    else: write()
