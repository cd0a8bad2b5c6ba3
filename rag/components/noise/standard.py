"""Text that is no content, found by the kinds of blocks and by repetition."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from rag.core.checks import check_choice, check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.types import BLOCKS, Block, Document

PROSE = ("text", "list", "footnote", "figure")
"""Kinds of blocks that are dropped where their text is repeated in a document or a folder."""
DIGITS = re.compile(r"\d+")
COMPARED = (*PROSE, "heading", "marginalia")
MARKS = str.maketrans(dict.fromkeys("#*_|>-", " "))

Found = tuple[int, int, str]
"""The characters [start, end) of a document, and the rule that found them."""


class StandardNoiseFilter:
    """Finds blocks of some kinds, texts that equal marginalia, and texts that are repeated on pages or in files.

    Texts are compared without case, white space and marks of Markdown. Within `edge` of the top or bottom of a page, page
    numbers and other digits do not count; elsewhere `12` and `13` are different texts. The files of a folder are those with
    blocks in it and in the folders below it. Headings are dropped only if they equal marginalia or are repeated on the pages of
    a document, and then the first of them stays. Tables and their cells are not dropped.
    """

    def __init__(
        self,
        kinds: Sequence[str] = ("marginalia", "logo"),
        pages: float = 0.5,
        least_pages: int = 3,
        files: float = 0.5,
        least_files: int = 5,
        edge: float = 0.1,
    ) -> None:
        if isinstance(kinds, str):
            raise ConfigError("loader.noise.kinds", f"{kinds!r} is not a list", "write [marginalia, logo]")
        for kind in kinds:
            check_choice("loader.noise.kinds", kind, BLOCKS)
        for name, share in {"pages": pages, "files": files}.items():
            check_number(f"loader.noise.{name}", share, 0, 1)
        check_number("loader.noise.edge", edge, 0, 0.5)
        check_whole("loader.noise.least_pages", least_pages, 2)
        check_whole("loader.noise.least_files", least_files, 2)
        self.kinds, self.edge = tuple(kinds), float(edge)
        self.pages, self.least_pages, self.files, self.least_files = float(pages), least_pages, float(files), least_files

    def find(self, documents: Sequence[Document]) -> list[list[Found]]:
        """The noise of every document in reading order, with the rules `kind: …`, `equals marginalia`, `pages` and `files`."""
        keyed = [(document, [self._key(document, block) for block in document.blocks]) for document in documents]
        common = self._common(keyed)
        return [list(self._noise(document, keys, common)) for document, keys in keyed]

    def _noise(self, document: Document, keys: Sequence[str], common: set[tuple[str, str]]) -> Iterator[Found]:
        blocks = list(zip(document.blocks, keys, strict=True))
        margins = {
            text for block, key in blocks if block.kind == "marginalia" for text in (key, _plain(document, block)) if text
        }
        paged = self._on_most_pages(blocks)
        folders = [str(folder) for folder in PurePosixPath(document.doc_id).parents]
        kept: set[str] = set()
        for block, text in blocks:
            repeated = "equals marginalia" if text in margins else "pages" if text in paged else ""
            if block.kind in self.kinds:
                yield block.start, block.end, f"kind: {block.kind}"
            elif block.kind == "heading" and repeated:
                if text in kept:
                    yield block.start, block.end, repeated
                kept.add(text)
            elif block.kind in PROSE and repeated:
                yield block.start, block.end, repeated
            elif block.kind in PROSE and any((folder, text) in common for folder in folders):
                yield block.start, block.end, "files"

    def _key(self, document: Document, block: Block) -> str:
        """The text of a block as it is compared; empty for one without words, and for a kind that is not compared."""
        if block.kind not in COMPARED:
            return ""
        at_edge = block.kind == "marginalia" or any(box[3] <= self.edge or box[1] >= 1 - self.edge for box in block.boxes)
        text = _plain(document, block)
        return DIGITS.sub("0", text) if at_edge else text

    def _on_most_pages(self, blocks: Sequence[tuple[Block, str]]) -> set[str]:
        last = max((block.page for block, _ in blocks), default=0)
        places = {(text, block.page) for block, text in blocks if block.kind in (*PROSE, "heading") and text and block.page}
        counts = Counter(text for text, _ in places)
        return {text for text, n in counts.items() if n >= self.least_pages and n > self.pages * last}

    def _common(self, keyed: Sequence[tuple[Document, Sequence[str]]]) -> set[tuple[str, str]]:
        """The pairs of a folder and a text that is in most of its files."""
        sizes: Counter[str] = Counter()
        counts: Counter[tuple[str, str]] = Counter()
        for document, keys in keyed:
            texts = {text for block, text in zip(document.blocks, keys, strict=True) if block.kind in PROSE and text}
            for folder in map(str, PurePosixPath(document.doc_id).parents if keys else ()):
                sizes[folder] += 1
                counts.update((folder, text) for text in texts)
        return {pair for pair, n in counts.items() if n >= self.least_files and n > self.files * sizes[pair[0]]}


def _plain(document: Document, block: Block) -> str:
    """The text of a block without case, white space and marks."""
    return " ".join(document.text[block.start : block.end].casefold().translate(MARKS).split())
