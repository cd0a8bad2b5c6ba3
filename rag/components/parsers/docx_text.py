"""The text of a paragraph of a Word document, and of the parts that hang on it."""

from dataclasses import dataclass, field
from typing import Any

from rag.components.parsers.docx_math import M, latex
from rag.components.parsers.docx_styles import VAL, W

PAGE = "\f"
"""The sign of a page break in the text of a paragraph."""
LEFT_OUT = frozenset(W + name for name in ("del", "moveFrom", "pPr", "rPr", "sdtPr", "tblPr", "trPr", "tcPr", "tblGrid", "rt"))
LETTERS = {"tab": " ", "ptab": " ", "cr": "\n", "noBreakHyphen": "-", "lastRenderedPageBreak": PAGE}
ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
CHECKBOX = "{http://schemas.microsoft.com/office/word/2010/wordml}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
TEXT, RUN, BOX = W + "t", W + "r", W + "txbxContent"
NOTES = {W + "footnoteReference": "footnotes", W + "endnoteReference": "endnotes"}
HIDDEN = f"{W}rPr/{W}vanish"


@dataclass
class Inline:
    """The text of a paragraph; `boxes` are text boxes, `notes` pairs of part and id, `pictures` the words on pictures."""

    pieces: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text with PAGE where a page ends."""
        return "".join(self.pieces)

    def read(self, node: Any) -> "Inline":
        """Add the text of an element."""
        for child in node:
            tag = child.tag
            if tag == TEXT:
                self.pieces.append(child.text or "")
            elif tag == RUN:
                if child.find(HIDDEN) is None or child.find(HIDDEN).get(VAL) in ("0", "false"):
                    self.read(child)
                else:
                    self.left_out.append("hidden texts")
            elif tag in LEFT_OUT:
                self.left_out += ["tracked deletions"] if tag == W + "del" and child.find(f".//{W}delText") is not None else []
            elif isinstance(tag, str):
                self._read_other(child, tag)
        return self

    def _read_other(self, node: Any, tag: str) -> None:
        if tag in (M + "oMath", M + "oMathPara"):
            formulas = [node] if tag == M + "oMath" else node.findall(M + "oMath")
            self.pieces += [f" ${shown}$ " for formula in formulas if (shown := latex(formula).strip())]
        elif tag == BOX:
            self.boxes.append(node)
        elif tag in NOTES:
            self.notes.append((NOTES[tag], node.get(W + "id", "")))
        elif tag == ALTERNATIVES:
            self.read(node[:1])
        elif tag.startswith(W) and (letter := _letter(node)) is not None:
            self.pieces.append(letter)
        else:
            self.pictures += [node.get("descr", "")] if tag == PICTURE else []
            self.left_out += ["charts"] if tag == CHART else []
            self.read(node)


def _letter(node: Any) -> str | None:
    """The characters that an empty element stands for; None for another one."""
    kind = node.tag.removeprefix(W)
    if kind == "br":
        return "" if node.get(W + "type") == "page" else "\n"
    if kind == "sym":
        code = int(node.get(W + "char", "0"), 16)
        return chr(code) if 0x20 <= code < 0xD800 else ""
    if kind == "sdt" and (box := node.find(f"{W}sdtPr/{CHECKBOX}checkbox")) is not None:
        state = box.find(CHECKBOX + "checked")
        return "[x]" if state is not None and state.get(CHECKBOX + "val") in ("1", "true") else "[ ]"
    return LETTERS.get(kind)
