"""Every choice in conf/check: it builds, fits a role, finds what it should and nothing in an answer that is sound."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag.config.build import Components
from rag.core.errors import ConfigError
from rag.core.records import Chunk, Finding, Hit, Message, Query, Ranking, Reply, Request, Span
from rag.core.roles import Inspection, Screen

CONF = Path(__file__).parents[3] / "conf"
FILES = sorted(path for path in (CONF / "check").glob("*.yaml") if path.stem != "none")
HASHING = yaml.safe_load((CONF / "embedder" / "hashing.yaml").read_text("utf-8"))


def node(path: Path, **changes: Any) -> dict[str, Any]:
    nodes = yaml.safe_load(path.read_text("utf-8"))
    assert list(nodes) == [path.stem], "a check keys itself by its file name"
    given = {"${embedder}": HASHING, '${oc.select:prompt.refusal,""}': "I cannot say."}
    return {
        key: given.get(value, value) if isinstance(value, str) else value for key, value in nodes[path.stem].items()
    } | changes


def build(path: Path, **changes: Any) -> Any:
    return Components().role("check", node(path, **changes), f"check.{path.stem}")


BUILT: Mapping[str, Any] = {path.stem: build(path) for path in FILES}
INSPECTIONS = [path for path in FILES if isinstance(BUILT[path.stem], Inspection)]
TEXT = "# Ferry\n\nThe ferry to Holm leaves at seven. A ticket costs 9 crowns."
BAD = {
    "citations": "The ferry to Holm leaves at seven.",
    "grounded": "Elephants dance on frozen moons every Tuesday.",
    "numbers": "A ticket costs 12 crowns [1].",
    "quotes": "The sign says “no dogs on board” [1].",
}


def request(text: str = TEXT) -> Request:
    return Request(Query("q", "When does the ferry leave?"), (Chunk(Span("d", 0, len(text)), text),), (Message("user", "?"),))


def ranking(text: str = TEXT) -> Ranking:
    return (Hit(Chunk(Span("d", 0, len(text)), text), 3.0),)


def inspected(check: Inspection, text: str) -> list[Finding]:
    (found,) = check.inspect([request()], [Reply(text)])
    return found


def test_every_check_screens_or_inspects() -> None:
    assert [name for name, check in BUILT.items() if isinstance(check, Screen)] == ["off_topic", "retrieval_floor"]
    assert {path.stem for path in INSPECTIONS} == set(BAD)


@pytest.mark.parametrize("path", INSPECTIONS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "text", ["The ferry to Holm leaves at seven. [1]", "", "I cannot say.", "Who?", "[1]", "naïve ☃\u2028\0"]
)
def test_a_sound_answer_and_a_refusal_fail_nothing(path: Path, text: str) -> None:
    assert inspected(BUILT[path.stem], text) == []


@pytest.mark.parametrize("path", INSPECTIONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("action", ["flag", "refuse", "regenerate"])
def test_a_bad_answer_is_found_and_what_follows_is_as_told(path: Path, action: str) -> None:
    text = BAD[path.stem]
    check = build(path, on_failure=action)
    found = inspected(check, text)
    assert [(one.source, one.action) for one in found] == [(path.stem, action)]
    assert all(0 <= one.start < one.end <= len(text) and one.what and one.advice.endswith(".") for one in found)
    assert inspected(check, text) == found


@pytest.mark.parametrize("path", INSPECTIONS, ids=lambda path: path.stem)
def test_a_reply_is_inspected_alone(path: Path) -> None:
    check = BUILT[path.stem]
    texts = ["The ferry to Holm leaves at seven [1].", BAD[path.stem], ""]
    together = check.inspect([request()] * 3, [Reply(text) for text in texts])
    assert together == [inspected(check, text) for text in texts]
    assert check.inspect([], []) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_cannot_follow_is_said_where_it_is_written(path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"check\.{path.stem}\.on_failure"):
        build(path, on_failure="shrug")


@pytest.mark.parametrize("path", INSPECTIONS, ids=lambda path: path.stem)
def test_nobody_is_asked_again_without_advice(path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"check\.{path.stem}\.advice"):
        build(path, on_failure="regenerate", advice=" ")
