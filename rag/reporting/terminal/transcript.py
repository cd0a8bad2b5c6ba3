"""A conversation as a file."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag.core.errors import DataError
from rag.core.files import replace_text
from rag.core.redaction import redacted_json
from rag.core.text.citations import places_of
from rag.pipeline.conversation.session import Session
from rag.pipeline.shapes.passage_fates import traced_answer


def save(session: Session, config: Mapping[str, Any], path: Path, replace: bool = False) -> None:
    """Write a conversation as JSON if the name ends in .json, else as Markdown.

    Raises DataError if the file exists and `replace` is false, or if it cannot be written.
    """
    if path.exists() and not replace:
        raise DataError(str(path), "is there already", f"give another name, or: /save! {path}")
    content = _json(session, config) if path.suffix.lower() == ".json" else _markdown(session)
    try:
        replace_text(path, content, errors="replace")
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise DataError(str(path), f"cannot be written ({what})", "give a name in a folder that you may write to") from error


def _json(session: Session, config: Mapping[str, Any]) -> str:
    turns = [
        {**traced_answer(session.pipeline, each.trace, each.answer), "messages": [asdict(turn) for turn in each.turns]}
        for each in session.exchanges
    ]
    return json.dumps({"config": redacted_json(config), "turns": turns}, indent=1, ensure_ascii=False) + "\n"


def _markdown(session: Session) -> str:
    lines: list[str] = []
    for exchange in session.exchanges:
        # Each line of a question is quoted.
        lines += [*(f"> {line}" for line in exchange.question.splitlines()), "", exchange.answer.reply.text.strip() or "…", ""]
        lines += [f"- {exchange.about}"]
        lines += [f"- {finding.source}: {finding.what}" for finding in exchange.answer.findings]
        cited = set(exchange.answer.reply.citations)
        for number, (hit, place) in enumerate(zip(exchange.answer.contexts, places_of(exchange.answer), strict=True), 1):
            about = f" ({place})" if str(place) else ""
            lines.append(f"- [{number}]{' cited' if number in cited else ''} `{hit.chunk.chunk_id}`{about}")
        lines.append("")
    return "\n".join(lines)
