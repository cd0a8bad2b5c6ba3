"""What a system returned before, from a file."""

from collections.abc import Sequence
from pathlib import Path

from rag.config.catalog import plugin_modules, plugins
from rag.config.identity import code_identity, digest
from rag.core.errors import ConfigError, DataError
from rag.core.figures import amount
from rag.core.models.pinned import sha256
from rag.core.systems import SystemReply
from rag.core.types import Query
from rag.documents.folder.files import missing_file
from rag.plugins.systems.result_rows import read_results


class RecordedSystem:
    """Answers with the rows of a file, by the id or the text of a question; rows of other questions are left out.

    DataError for a question without a row, and for two rows of one question. In a TREC run a question without a line has no
    passages, as in trec_eval.
    """

    def __init__(self, path: str) -> None:
        if not path:
            raise ConfigError("system.path", "is empty", "name the file with the results of the system")
        self.path = path

    def fingerprint(self) -> str:
        """The hash of the file, and of the code of formats, which reads traces."""
        file = Path(self.path)
        if not file.is_file():
            raise missing_file(file)
        return digest(sha256(file), [code_identity(module, ("rag", *plugins())) for module in plugin_modules("formats")])

    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        """The row of each question."""
        rows, is_run = read_results(Path(self.path))
        found = [rows.get(query.query_id, rows.get(query.text.strip())) for query in queries]
        missing = [query for query, reply in zip(queries, found, strict=True) if reply is None]
        if missing and (not is_run or len(missing) == len(queries)):
            what = f"has no row for {amount(len(missing), 'question')} of {len(queries)}, the first is {missing[0].query_id!r}"
            raise DataError(self.path, what, "ask the system every question, and write passages: [] where it finds nothing")
        return [reply or SystemReply() for reply in found]
