"""Formulas of Office files (OMML, ECMA-376 part 1, 22.1) as LaTeX."""

from typing import Any

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
FORMS = {
    "f": r"\frac{{{num}}}{{{den}}}",
    "noBar": r"{{{num} \atop {den}}}",
    "rad": r"\sqrt[{deg}]{{{e}}}",
    "sSub": "{e}_{{{sub}}}",
    "sSup": "{e}^{{{sup}}}",
    "sSubSup": "{e}_{{{sub}}}^{{{sup}}}",
    "nary": "{chr}_{{{sub}}}^{{{sup}}}{e}",
    "d": r"\left{begChr}{e}\right{endChr}",
    "m": r"\begin{{matrix}} {mr} \end{{matrix}}",
    "mr": "{e}",
    "eqArr": "{e}",
    "limLow": "{e}_{{{lim}}}",
    "limUpp": "{e}^{{{lim}}}",
    "func": "{fName} {e}",
}
"""Element → its LaTeX, with the names of its parts and signs."""
EMPTY = {r"\sqrt[]": r"\sqrt", "_{}": "", "^{}": ""}
BETWEEN = {"d": "|", "m": r" \\ ", "mr": " & ", "eqArr": r" \\ "}
"""What stands between parts of the same name."""
SIGNS = {"chr": "∫", "begChr": "(", "endChr": ")"}
"""Properties that are signs, with their defaults."""
ESCAPED = {"": ".", "{": r"\{", "}": r"\}"}


class _Parts(dict[str, str]):
    """The parts and the signs of an element by name."""

    def __init__(self, node: Any, kind: str) -> None:
        super().__init__()
        self.node, self.between = node, BETWEEN.get(kind, "")

    def __missing__(self, name: str) -> str:
        if name not in SIGNS:
            return self.between.join(latex(part).strip() for part in self.node.findall(M + name))
        found = self.node.find(f"*/{M}{name}")
        sign = SIGNS[name] if found is None else found.get(M + "val", "")
        return sign if name == "chr" else ESCAPED.get(sign, sign)


def latex(node: Any) -> str:
    """The LaTeX of a formula or of a part of one; symbols stay Unicode characters."""
    if not isinstance(node.tag, str) or not node.tag.startswith(M) or node.tag.endswith("Pr"):
        return ""
    kind = node.tag.removeprefix(M)
    if kind == "t":
        return node.text or ""
    if kind not in FORMS:
        return "".join(map(latex, node))
    is_flat = node.find(f"{M}fPr/{M}type[@{M}val='noBar']") is not None
    shown = FORMS["noBar" if is_flat else kind].format_map(_Parts(node, kind))
    for empty, replacement in EMPTY.items():
        shown = shown.replace(empty, replacement)
    return shown
