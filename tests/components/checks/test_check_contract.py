"""Every choice in conf/check keeps the laws, finds a bad answer, and finds nothing in a sound one."""

from typing import Any

import pytest
import yaml
from support.choices import CONF, choices, node

from rag.config.build import Components
from rag.core.errors import ConfigError
from rag.core.roles import Inspection
from rag.core.types import Chunk, Finding, Message, Query, Reply, Request, Span
from rag.testing import check_check

NAMES = choices("check", but=("none",))
TEXT = "# Ferry\n\nThe ferry to Holm leaves at seven. A ticket costs 9 crowns."
BAD = {
    "citations": "The ferry to Holm leaves at seven.",
    "grounded": "Elephants dance on frozen moons every Tuesday.",
    "overall_pass": "Elephants dance on frozen moons every Tuesday.",
    "numbers": "A ticket costs 12 crowns [1].",
    "quotes": "The sign says “no dogs on board” [1].",
}
REQUEST = Request(Query("q", "When does the ferry leave?"), (Chunk(Span("d", 0, len(TEXT)), TEXT),), (Message("user", "?"),))


def build(name: str, **changes: Any) -> Any:
    return Components().role("check", node("check", name, **changes), f"check.{name}")


def inspected(check: Inspection, text: str) -> list[Finding]:
    (findings,) = check.inspect([REQUEST], [Reply(text)])
    return [one for one in findings if not one.what.startswith("passes")]


@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str) -> None:
    assert list(yaml.safe_load((CONF / "check" / f"{name}.yaml").read_text("utf-8"))) == [name]
    check = build(name)
    assert isinstance(check, Inspection) == (name in BAD)
    check_check(check)
    with pytest.raises(ConfigError, match=rf"check\.{name}\.on_failure"):
        build(name, on_failure="shrug")


@pytest.mark.parametrize("name", BAD)
def test_a_sound_answer_and_a_refusal_fail_nothing(name: str) -> None:
    check = build(name)
    sound = ("The ferry to Holm leaves at seven. [1]", "", "I cannot say.", "Who?", "[1]", "naïve ☃\u2028\0")
    for text in sound[: 3 if name == "overall_pass" else None]:
        assert inspected(check, text) == []


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_has_a_finding_with_the_configured_action(name: str) -> None:
    text = BAD[name]
    for action in ("flag", "refuse", "regenerate"):
        findings = inspected(build(name, on_failure=action), text)
        assert [(one.source, one.action) for one in findings] == [(name, action)]
        assert all(0 <= one.start < one.end <= len(text) and one.what and one.advice.endswith(".") for one in findings)
    with pytest.raises(ConfigError, match=rf"check\.{name}\.advice"):
        build(name, on_failure="regenerate", advice=" ")
