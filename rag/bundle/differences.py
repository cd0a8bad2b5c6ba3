"""What differs between what a bundle was measured to do and what it does."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.bundle.golden_cases import Case

COMPARED = ("passages", "prompt", "contexts", "answer")


@dataclass(frozen=True)
class Mismatch:
    """Something that is not as it was measured: `passages`, `prompt`, `contexts` or `answer` of a question, or the `bundle`.

    `expected` and `found` are chunk_ids, a digest of messages, a text, or the hash of a bundle.
    """

    query_id: str
    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        """What differs, in a sentence."""
        if self.what == "bundle":
            return f"the server has {self.found or 'no bundle'}, and not {self.expected}"
        if self.what in ("passages", "contexts"):
            rank = _first_difference(self.expected, self.found)
            there = [ids[rank] if rank < len(ids) else "nothing" for ids in (self.expected, self.found)]
            return f"{self.query_id}: {self.what[:-1]} {rank + 1} was {there[0]} when it was measured, and is {there[1]}"
        if self.what == "prompt":
            return f"{self.query_id}: the messages to the model are others than when it was measured"
        return f"{self.query_id}: the answer was {self.expected!r} when it was measured, and is {self.found!r}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"query_id": self.query_id, "what": self.what, "expected": self.expected, "found": self.found, "said": str(self)}


def _first_difference(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((rank for rank, (left, right) in pairs if left != right), min(len(one), len(other)))


@dataclass
class Replay:
    """What was compared, by what a mismatch can be of, what differs, and why questions could not be asked."""

    compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COMPARED, 0))
    mismatches: list[Mismatch] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def hold(self, case: Case, what: str, expected: Any, found: Any) -> None:
        """Compare what a bundle must repeat; None is nothing of that."""
        if expected is not None:
            self.compared[what] += 1
            if expected != found:
                self.mismatches.append(Mismatch(case.query.query_id, what, expected, found))

    def leave_out(self, why: str) -> None:
        """Count what was not asked."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        told = [mismatch.to_json() for mismatch in self.mismatches]
        return {"compared": dict(self.compared), "mismatches": told, "left_out": dict(self.left_out)}
