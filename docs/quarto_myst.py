"""Notebooks in Quarto's syntax: to MyST for Sphinx (an extension), or without nbdev's directives for Quarto (a filter)."""
import ast, json, re, sys

# A directive is a leading `#| name value` (nbdev) or `#| key: value` (Quarto) line.
_DIRECTIVE = re.compile(r"#\|\s*([\w-]+)(:?)\s*(.*)")
_CODE = re.compile(r"(^[ \t]*(```+|~~~+).*?^[ \t]*\2`*[ \t]*$|(`+)(?!`).+?(?<!`)\3(?!`))", re.M | re.S)
_DISPLAY = re.compile(r"^([ \t]*)\$\$(.+?)\$\$[ \t]*(?:\{#(eq-[\w-]+)\})?[ \t]*", re.M | re.S)
_INLINE = re.compile(r"(?<![\\$\w])\$(?![\s$])(?:\\.|[^$\\\n]|\n(?!\s*\n))+?(?<!\s)\$(?!\d)")
_CITED = re.compile(r"(?P<pre>[^@;]*?)(?P<bare>-?)@(?P<key>[\w:.-]*\w)(?:,?\s*(?P<post>[^;@]+))?$", re.S)
_WORD = r"(?P<word>\b(?:[Ee]q(?:uations?|s?\.)|[Ff]ig(?:ures?|s?\.)|[Ss]ections?|[Tt]ables?)\s)?"
_NAMED = re.compile(_WORD + r"(?<![\w`@/.{])@(?P<name>(?:fig|eq|sec|tbl)-[\w-]*\w)")


def directives(source):
    "Split a code cell into its leading `#|` directives, as a dict, and the code below them."
    found, last, lines = {}, None, source.split("\n")
    while lines and (lines[0].startswith("#|") or (found and not lines[0].strip())):
        line = lines.pop(0)
        if last and re.match(r"#\|\s{2,}\S", line): found[last] = f"{found[last].rstrip('|>')} {line[2:].strip()}".strip()
        elif match := _DIRECTIVE.match(line):
            last, value = match[1], match[3].strip()
            found[last] = value[1:-1] if match[2] and value[:1] in "\"'" and value[-1:] == value[:1] else value
    return found, "\n".join(lines)


def _is_test(node):
    if isinstance(node, ast.Assert): return True
    if isinstance(node, (ast.For, ast.With)) and all(map(_is_test, node.body)): return True
    if isinstance(node, ast.With):
        return all(isinstance(i.context_expr, ast.Call) and getattr(i.context_expr.func, "id", "").startswith(("expect_", "ExceptionExpected"))
                   for i in node.items)
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "id", "").startswith(("test_", "expect_"))


def only_tests(code):
    "True where every statement asserts something: such a cell is folded."
    try: body = ast.parse(code).body
    except SyntaxError: return False
    return bool(body) and all(map(_is_test, body))


def _reference(name, bare=False):
    "A cross reference: with its word (Figure, Equation) unless the author wrote it."
    kind = name.split("-")[0]
    if kind == "eq": return ("" if bare else "Equation ") + "{eq}`%s`" % name
    if kind == "sec": return "{ref}`%s`" % name
    return ("{numref}`{number} <%s>`" if bare else "{numref}`%s`") % name


def _citations(match):
    "`[@a, Theorem 3; @b]` as one group of citations, or as cross references."
    parts = [_CITED.match(part.strip()) for part in match[1].split(";")]
    if not all(parts): return match[0]
    if all(re.match(r"(fig|eq|sec|tbl)-", part["key"]) for part in parts):
        return ", ".join((part["pre"] or "") + _reference(part["key"], part["bare"]) for part in parts)
    brace = lambda text: "{%s}" % " ".join(text.split()) if text and text.strip() else ""
    return "{cite:p}`%s`" % ",".join(brace(part["pre"]) + part["key"] + brace(part["post"]) for part in parts)


def _links(text):
    "MyST finds labels by name, in any page."
    return re.sub(r"\]\([\w./-]+\.ipynb#((?:fig|eq|sec|tbl)-[\w-]+)\)", r"](#\1)", text)


def _prose(text):
    "Citations and cross references of a stretch without code or mathematics."
    text = _links(text)
    text = re.sub(r"\[([^\[\]]*@[^\[\]]+)\](?!\()", _citations, text)
    text = _NAMED.sub(lambda m: (m["word"] or "") + _reference(m["name"], bool(m["word"])), text)
    return re.sub(r"(?<![\w`@/.{-])@([A-Za-z][\w:-]*\w)", r"{cite:t}`\1`", text)


def _display(match):
    "Display mathematics needs blank lines around it; a label goes into round brackets."
    indent, body, label = match[1], match[2].strip("\n"), match[3]
    if "\n\n" in body: body = re.sub(r"\n\s*\n", "\n", body)
    return f"\n\n{indent}$$\n{indent}{body.strip()}\n{indent}$$" + (f" ({label})" if label else "") + "\n\n" + indent


def _details(match):
    return f"\n:::::{{dropdown}} {re.sub('<[^>]+>', '', match[1]).strip()}\n{match[2].strip()}\n:::::\n"


def markdown(text):
    "Quarto's markdown as MyST's."
    kept = []
    def keep(chunk):
        kept.append(chunk)
        return f"\x00{len(kept) - 1}\x00"
    text = re.sub(r"<details[^>]*>\s*<summary>(.*?)</summary>(.*?)</details>", _details, text, flags=re.S)
    text = _CODE.sub(lambda m: keep(m[0]), text)
    text = _DISPLAY.sub(lambda m: keep(_display(m)), text)
    text = _INLINE.sub(lambda m: keep(m[0]), text)
    text = re.sub(r"^(#+[ \t].*?)[ \t]*\{#([\w-]+)[^}]*\}[ \t]*$", r"(\2)=\n\1", text, flags=re.M)
    text = re.sub(r"^!\[(.*?)\]\((.*?)\)\{#(fig-[\w-]+)[^}]*\}[ \t]*$", r":::{figure} \2\n:name: \3\n\1\n:::", text, flags=re.M | re.S)
    text = re.sub(r"^:::[ \t]*\{\.callout-(\w+)[^}]*\}", r":::{\1}", text, flags=re.M)
    text = _prose(text)
    while "\x00" in text: text = re.sub("\x00(\\d+)\x00", lambda m: kept[int(m[1])], text)
    return text


def _outputs(cell):
    "The outputs, links in Markdown as MyST's, without the rule that nbdev's `show_doc` puts first (docutils stops on it)."
    for output in cell.get("outputs", []):
        text = output.get("data", {}).get("text/markdown")
        if text: output["data"]["text/markdown"] = _links(re.sub(r"\A\s*---\s*\n", "", "".join(text)))
    return cell.get("outputs", [])


def code_cell(cell):
    "A code cell for MyST-NB, or None where the reader should not see it."
    found, code = directives("".join(cell["source"]))
    if "hide" in found or not code.strip() or found.get("include") == "false": return None
    tags, options, outputs = set(cell.get("metadata", {}).get("tags", [])), {}, _outputs(cell)
    if found.get("echo") == "false": tags.add("remove-input")
    if found.get("output") == "false": tags.add("remove-output")
    if found.get("code-fold") == "true" or only_tests(code):
        tags.add("hide-input")
        summary = found.get("code-summary") or ("Tests" if only_tests(code) else "Code")
        options |= {"code_prompt_show": summary, "code_prompt_hide": summary}
    if found.get("label", "").startswith("fig-"):
        outputs = [o for o in outputs if any(mime.startswith("image/") for mime in o.get("data", {}))]
        options["figure"] = {"name": found["label"], "caption": markdown(found.get("fig-cap", ""))}
        options["image"] = {"alt": found.get("fig-alt") or re.sub(r"[$`@\[\]]", "", found.get("fig-cap", ""))}
    return {**cell, "source": code, "outputs": outputs, "metadata": {"tags": sorted(tags), "mystnb": options}}


def to_myst(notebook):
    "A notebook as MyST-NB reads it."
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code": cell = code_cell(cell)
        else: cell = {**cell, "source": markdown("".join(cell["source"]))}
        if cell: cells.append(cell)
    return {**notebook, "cells": cells}


def to_quarto(notebook):
    "A notebook as Quarto reads it: its own directives kept, nbdev's gone, tests folded."
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            found, code = directives("".join(cell["source"]))
            if "hide" in found or not code.strip(): continue
            known = {key: value for key, value in found.items() if re.search(rf"^#\|\s*{key}:", "".join(cell["source"]), re.M)}
            if only_tests(code): known |= {"code-fold": "true", "code-summary": "Tests"}
            head = [f"#| {key}: {json.dumps(value) if key.startswith(('fig-', 'code-s')) else value}" for key, value in known.items()]
            cell = {**cell, "source": "\n".join(head + [code]), "outputs": _outputs(cell)}
        cells.append({**cell, "source": "".join(cell["source"]).splitlines(keepends=True)})
    return {**notebook, "cells": cells}


def _source_read(app, docname, content):
    if app.env.doc2path(docname).endswith(".ipynb"): content[0] = json.dumps(to_myst(json.loads(content[0])))


def _no_thebe(app, pagename, templatename, context, doctree):
    "Code is not run in the browser (that needs a server elsewhere), and jupyter-book adds those scripts twice."
    context["script_files"] = [f for f in context.get("script_files", []) if "thebe" not in f"{f} {getattr(f, 'attributes', '')}".lower()]


def setup(app):
    app.connect("source-read", _source_read)
    app.connect("html-page-context", _no_thebe, priority=900)
    return {"version": "1", "parallel_read_safe": True}


if __name__ == "__main__": json.dump(to_quarto(json.load(sys.stdin)), sys.stdout)
