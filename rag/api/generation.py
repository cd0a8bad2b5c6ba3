"""Make a golden set from documents."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.ingest import components_of
from rag.api.ingestion import config_of_folder
from rag.authoring.generation.filters import Passages
from rag.authoring.generation.generate import Generated, Proposer, generate
from rag.authoring.generation.probe import discrimination, sentence_vectors
from rag.authoring.generation.proposals import PARAPHRASE, SHARES, Proposal
from rag.core.errors import DataError
from rag.core.files import replace_text
from rag.core.types import Document
from rag.evaluation.data.golden import load_documents

QUESTIONS = "questions.jsonl"


def generate_set(
    what: Sequence[str],
    to: Path,
    total: int = 100,
    kinds: Sequence[str] = (),
    model: bool = False,
    model_filters: Sequence[str] | None = None,
    style_from: Path | None = None,
    documents: Sequence[Document] | None = None,
) -> tuple[Generated, dict[str, Any]]:
    """Write a golden set about a folder or a dataset's documents to `to`/questions.jsonl; return it with its report.

    With `model` the generator of the config proposes questions first, and rules the rest; `model_filters` are the filters that
    ask it (all by default), and the questions of `style_from` show how people ask. `documents` are read
    already. DataError for a file that exists, and for documents that hold nothing to ask about.
    """
    path = to / QUESTIONS
    if path.exists():
        raise DataError(str(path), "exists, and is not overwritten", "remove it, or name another folder: --to FOLDER")
    config = config_of_folder(what)
    components = components_of(config)
    documents = documents or load_documents(components.role("loader", config["loader"]))
    proposer = _model_proposer(config, components, model_filters, style_from) if model else None
    kinds = kinds or ([*SHARES, PARAPHRASE] if model else [])
    vectors = sentence_vectors(config["language"], components)
    made = generate(documents, config["language"], total, kinds, proposer, vectors)
    if not made.questions:
        raise DataError(str(what[0] if what else to), "; ".join(made.notes), "write questions by hand, or use a model: --model")
    write_rows(path, made.rows(datetime.now(UTC).date().isoformat()))
    return made, report(made, path) | discrimination(list(made.documents.values()), made.questions, config["language"], vectors)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON objects, one a line, as a whole; OSError where that is not possible."""
    replace_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "replace")


def report(made: Generated, path: Path) -> dict[str, Any]:
    """The output of `rag data generate --json`, without its probe."""
    return {
        "questions": len(made.questions),
        "path": str(path),
        "proposed": dict(made.proposed),
        "dropped": dict(made.dropped),
        "unread": made.unread,
        "notes": list(made.notes),
        **made.figures,
    }


def _model_proposer(
    config: Mapping[str, Any], components: Any, filters: Sequence[str] | None, style_from: Path | None
) -> Proposer:
    from rag.authoring.generation import model_questions
    from rag.authoring.generation.model_filters import ModelFilters

    generator, language = components.handed(config["generator"], "generator"), config["language"]
    style = model_questions.style_of(style_from) if style_from else ()

    def proposals(documents: Mapping[str, Document], passages: Passages, wanted: Mapping[str, int]) -> Iterable[Proposal]:
        drops = ModelFilters(documents, generator, passages.found, language, filters).reasons
        return model_questions.ModelQuestions(documents, generator, language, style, drops).propose(wanted)

    return proposals
