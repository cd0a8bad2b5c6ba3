"""Rows of files of unknown origin: a confined process parses them, and sends them as lines of JSON."""

import json
from itertools import islice
from pathlib import Path
from typing import ClassVar

from rag.components.parsers.refusals import refusal
from rag.core.errors import DataError
from rag.core.records import Parsed
from rag.datasets.exchange.tables import COLUMNS, Fields, Rows, codec_of, rows_of
from rag.documents.child_process import ChildProcess, Unreadable
from rag.documents.children import installation
from rag.documents.json_rows import shortened
from rag.documents.limits import Limits

LIMITS, VALUES, BLOCK = Limits(), 10_000, 1 << 20
"""Limits of the process; values and keys of a row of YAML; characters that are sent at once."""


def read(path: Path, container: str) -> Rows:
    """The rows of a file, which a confined process parses; DataError as `rows_of`, and for a file over a limit."""
    asked = {"target": f"{__name__}.RowsParser", "name": str(path), "seconds": LIMITS.seconds, "answer": LIMITS.answer}
    with refusal(str(path), f"a {container} file"), path.open("rb") as file:
        parameters = {"descriptor": file.fileno(), "container": container, "codec": codec_of(path)}
        child = ChildProcess(installation([]), LIMITS, [file.fileno()])
        try:
            head = json.dumps(asked | {"parameters": parameters}).encode()
            while (content := child.ask(head, b"").content) != Parsed(""):
                if isinstance(content, Unreadable):
                    raise DataError(str(path), shortened(content.detail, 300), "split or repair the file, or leave columns out")
                for where, fields, fault in map(json.loads, content.text.split("\n")):
                    if fault and not where:
                        raise DataError(*fault)
                    yield where, DataError(*fault) if fault else fields
        finally:
            child.end()


class RowsParser:
    """The rows of an open file in the confined process: each call gives the next ones as lines of JSON.

    A line is the place of a row, its fields, and why it has none: place, fault and remedy. A fault of the file has no place.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    in_process: ClassVar[bool] = False

    def __init__(self, descriptor: int, container: str, codec: str) -> None:
        self.file, self.container, self.codec = open(descriptor, "rb"), container, codec  # noqa: SIM115
        self._rows: Rows | None = None

    def parse(self, data: bytes, name: str) -> Parsed:
        """The next rows; no text at the end of the file."""
        self._rows = self._rows or rows_of(self.file, name, self.container, self.codec)
        lines, size = list[str](), 0
        try:
            while size < BLOCK and (row := next(self._rows, None)):
                lines.append(_line(*row, self.container))
                size += len(lines[-1])
        except DataError as error:
            lines.append(json.dumps(["", {}, [error.where, error.what, error.remedy]]))
        return Parsed("\n".join(lines))


def _line(where: str, fields: Fields | DataError, container: str) -> str:
    """A row as JSON. A few lines of YAML can make billions of values, so these are counted."""
    if not isinstance(fields, DataError):
        encoder = json.JSONEncoder(default=str, skipkeys=True)
        pieces = [*islice(encoder.iterencode(fields), VALUES + 1)] if container == "yaml" else [encoder.encode(fields)]
        if len(pieces) <= VALUES and len(fields) <= COLUMNS:
            return f'[{json.dumps(where)}, {"".join(pieces)}, null]'
        what = f"more than {VALUES:,} values and keys" if len(pieces) > VALUES else f"{len(fields):,} columns"
        fields = DataError(where, f"has {what}", f"keep {COLUMNS:,} columns at most, of few values")
    return json.dumps([where, {}, [fields.where, fields.what, fields.remedy]])
