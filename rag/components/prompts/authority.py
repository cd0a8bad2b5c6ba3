"""What holds where a conversation and the files in a prompt disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rag.core.checks import check_choice, check_number
from rag.core.text.languages import check_language

ORDER = ("files", "newer", "older")


@dataclass(frozen=True)
class AuthorityOrder:
    """Pinned and locked `files`, `newer` and `older` statements of a conversation, the strongest first.

    A kind that is not in `order` neither drops statements nor is dropped. Two statements are about the same matter if the one
    with fewer words has the share `same` of them in common with the other; one that has the share `copy` of its words in a
    file repeats it. `negations` are words by language, besides those of English.
    """

    order: Sequence[str] = ORDER
    same: float = 0.8
    copy: float = 0.9
    language: str = "english"
    negations: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in self.order:
            check_choice("prompt.authority.order", kind, ORDER)
        check_number("prompt.authority.same", self.same, 0, 1)
        check_number("prompt.authority.copy", self.copy, 0, 1)
        check_language("prompt.authority.language", self.language)
