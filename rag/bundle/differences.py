"""Differences between the measured results of a bundle and those of a replay."""

from dataclasses import asdict, dataclass, field
from typing import Any

from rag.bundle.golden_cases import Case

COMPARED = ("passages", "prompt", "contexts", "answer")


@dataclass(frozen=True)
class Mismatch:
    """One difference: in the `passages`, `prompt`, `contexts` or `answer` of a question, or of the `bundle` itself.

    `expected` and `found` are chunk_ids, a digest of messages, a text, or the hash of a bundle.
    """

    query_id: str
    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        if self.what == "bundle":
            return f"the server has {self.found or 'no bundle'}, and not {self.expected}"
        if self.what in ("passages", "contexts"):
            pairs = enumerate(zip(self.expected, self.found, strict=False))
            rank = next((rank for rank, (one, other) in pairs if one != other), min(len(self.expected), len(self.found)))
            there = [ids[rank] if rank < len(ids) else "nothing" for ids in (self.expected, self.found)]
            return f"{self.query_id}: {self.what[:-1]} {rank + 1} was {there[0]} when it was measured, and is {there[1]}"
        if self.what == "prompt":
            return f"{self.query_id}: the messages to the model differ from those when it was measured"
        return f"{self.query_id}: the answer was {self.expected!r} when it was measured, and is {self.found!r}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "said": str(self)}


@dataclass
class Replay:
    """The result of a replay: number of comparisons by kind, mismatches, and questions that were left out by reason."""

    compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COMPARED, 0))
    mismatches: list[Mismatch] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def compare(self, case: Case, what: str, expected: Any, found: Any) -> None:
        """Compare a result that the bundle must repeat; None is not compared."""
        if expected is not None:
            self.compared[what] += 1
            if expected != found:
                self.mismatches.append(Mismatch(case.query.query_id, what, expected, found))

    def leave_out(self, why: str) -> None:
        """Count a question that was not asked."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**vars(self), "mismatches": [mismatch.to_json() for mismatch in self.mismatches]}
