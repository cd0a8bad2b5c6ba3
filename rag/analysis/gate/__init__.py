"""Whether a change makes an experiment worse than its committed baseline, with a stated error rate.

`measure.prepare` plans baseline and candidate, `verdict.check` refuses results that are not comparable, `measure.run` runs
missing stages, `sample.computed` computes a sample of the stored scores again, `verdict.report_on` decides, and
`verdict_files.write` writes JSON, JUnit XML and Markdown.
"""

from rag.analysis.gate.measure import prepare, recommended, run, to_keep
from rag.analysis.gate.sample import computed
from rag.analysis.gate.spec import with_inconclusive
from rag.analysis.gate.verdict import GateReport, check, command, last_line, report_on
from rag.analysis.gate.verdict_files import write, write_refusal
