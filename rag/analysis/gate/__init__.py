"""Whether a change makes an experiment worse than its committed baseline, said with a stated error rate.

`measure.prepare` plans baseline and candidate, `told.check` refuses what does not measure the same thing, `measure.run` runs
what is not in the store, `sample.computed` computes a sample of what is, `told.of` decides. `documents.write` writes JSON,
JUnit XML and Markdown.
"""

from rag.analysis.gate.measure import Gated, Prepared, prepare, recommended, run, to_keep
from rag.analysis.gate.sample import computed
from rag.analysis.gate.spec import Gate, Margin, parse, with_inconclusive
from rag.analysis.gate.verdict import GateReport, check, command, last_line, report_on
from rag.analysis.gate.verdict_files import write, write_refusal

__all__ = [
    "Gate",
    "GateReport",
    "Gated",
    "Margin",
    "Prepared",
    "check",
    "command",
    "computed",
    "last_line",
    "parse",
    "prepare",
    "recommended",
    "report_on",
    "run",
    "to_keep",
    "with_inconclusive",
    "write",
    "write_refusal",
]
