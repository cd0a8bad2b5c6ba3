"""Whether a change makes an experiment worse than its committed baseline, said with a stated error rate.

`measure.prepare` plans baseline and candidate, `told.check` refuses what does not measure the same thing, `measure.run` runs
what is not in the store, `told.of` decides. `documents.write` leaves JSON, JUnit XML and Markdown behind.
"""

from rag.gate.documents import write, write_refusal
from rag.gate.measure import Gated, Prepared, prepare, recommended, run, to_keep
from rag.gate.spec import Gate, Margin, parse, with_inconclusive
from rag.gate.told import Told, check, last_line, of

__all__ = [
    "Gate",
    "Gated",
    "Margin",
    "Prepared",
    "Told",
    "check",
    "last_line",
    "of",
    "parse",
    "prepare",
    "recommended",
    "run",
    "to_keep",
    "with_inconclusive",
    "write",
    "write_refusal",
]
