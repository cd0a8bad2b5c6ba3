"""Formulas of Office files (OMML, ECMA-376 part 1, 22.1) as LaTeX."""

from collections.abc import Callable
from typing import Any

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def latex(node: Any) -> str:
    """The LaTeX of a formula or of a part of one; symbols stay Unicode characters."""
    if not isinstance(node.tag, str) or not node.tag.startswith(M):
        return ""
    kind = node.tag.removeprefix(M)
    if kind == "t":
        return node.text or ""
    if kind in FORMS:
        return FORMS[kind](node)
    return "" if kind.endswith("Pr") else "".join(map(latex, node))


def _part(node: Any, name: str) -> str:
    found = node.find(M + name)
    return "" if found is None else latex(found).strip()


def _value(node: Any, properties: str, name: str, default: str) -> str:
    found = node.find(f"{M}{properties}/{M}{name}")
    return default if found is None else str(found.get(M + "val", default))


def _fraction(node: Any) -> str:
    numerator, denominator = _part(node, "num"), _part(node, "den")
    if _value(node, "fPr", "type", "bar") == "noBar":
        return f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{numerator}}}{{{denominator}}}"
    return f"\\frac{{{numerator}}}{{{denominator}}}"


def _root(node: Any) -> str:
    degree = _part(node, "deg")
    return f"\\sqrt{f'[{degree}]' if degree else ''}{{{_part(node, 'e')}}}"


def _scripts(node: Any, base: str = "") -> str:
    below, above = _part(node, "sub"), _part(node, "sup")
    return f"{base or _part(node, 'e')}{f'_{{{below}}}' if below else ''}{f'^{{{above}}}' if above else ''}"


def _large(node: Any) -> str:
    return _scripts(node, _value(node, "naryPr", "chr", "∫")) + _part(node, "e")


def _fenced(node: Any) -> str:
    marks = (_value(node, "dPr", "begChr", "("), _value(node, "dPr", "endChr", ")"))
    begin, end = (f"\\{mark}" if mark in ("{", "}") else mark for mark in marks)
    inner = _value(node, "dPr", "sepChr", "|").join(latex(part) for part in node.findall(M + "e"))
    return f"\\left{begin or '.'}{inner}\\right{end or '.'}"


def _rows(node: Any) -> str:
    rows = [" & ".join(map(latex, row.findall(M + "e"))) for row in node.findall(M + "mr")]
    return "\\begin{matrix} " + " \\\\ ".join(rows) + " \\end{matrix}"


FORMS: dict[str, Callable[[Any], str]] = {
    "f": _fraction,
    "rad": _root,
    "sSub": _scripts,
    "sSup": _scripts,
    "sSubSup": _scripts,
    "nary": _large,
    "d": _fenced,
    "m": _rows,
    "eqArr": lambda node: " \\\\ ".join(map(latex, node.findall(M + "e"))),
    "limLow": lambda node: f"{_part(node, 'e')}_{{{_part(node, 'lim')}}}",
    "limUpp": lambda node: f"{_part(node, 'e')}^{{{_part(node, 'lim')}}}",
    "func": lambda node: f"{_part(node, 'fName')} {_part(node, 'e')}",
}
