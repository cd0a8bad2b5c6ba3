"""What a model is asked: the prompts, personas, styles and kinds of conf/generate.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.config.catalog import texts
from rag.core.checks import check_choice
from rag.core.text.templates import check_template

READS = ("section", "table", "linked", "alike", "editions")
TEXTS: Mapping[str, tuple[str, ...]] = {
    "system": ("ask",),
    "prompt": ("passages", "persona", "style", "language", "target"),
    "target": ("number",),
    "target_in_other_words": ("number", "words"),
    "again": ("problem",),
    "user_style": ("examples",),
    "answer_system": ("sources",),
    **dict.fromkeys(("personas", "styles", "speaks_of_passage", "kinds", "answer_from_sources", "answer_alone", "unknown"), ()),
}
"""The texts of conf/generate.yaml and their placeholders."""


@dataclass(frozen=True)
class Kind:
    """A kind of question: what it `reads`, its instruction `ask` with an example, the bound of its overlap.

    `passages` is the number of passages that its evidence has a part of.
    """

    name: str
    reads: str
    ask: str
    asks: str
    replies: str
    overlap: float = 1.0
    passages: int = 1

    @property
    def names_unit(self) -> bool:
        """True if the request names the sentence or row that is asked about."""
        return self.reads in ("section", "table") and self.passages == 1 and self.name != "aggregation"


def prompts() -> Mapping[str, Any]:
    """The content of the file; ConfigError where it lacks a text or a placeholder."""
    content, where = texts("generate", TEXTS), "conf/generate.yaml"
    for name, places in TEXTS.items():
        if places:
            check_template(f"{where}: {name}", content[name], places, places)
    for name, kind in content["kinds"].items():
        check_choice(f"{where}: kinds.{name}.reads", kind.get("reads"), READS)
    return content


def kinds() -> dict[str, Kind]:
    """The kinds by name, in the order of the file."""
    return {name: Kind(name, **given) for name, given in prompts()["kinds"].items()}
