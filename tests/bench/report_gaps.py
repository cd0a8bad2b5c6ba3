"""Gaps of keyless reports against requirements that were judged by hand: python -m bench.report_gaps [tune] KEY=VALUE …

docs/readings/report_requirements.jsonl says of every requirement whether the handbook answers it. The set `tune` chose
`covered` in conf/write.yaml; the set `report` chose nothing.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from scipy.stats import binomtest

from rag.api.writing import write_report
from rag.core.files import shipped

ROWS = Path(__file__).parents[2] / "docs" / "readings" / "report_requirements.jsonl"
KINDS = {(True, True): "false alarm", (True, False): "stated", (False, True): "gap", (False, False): "missed"}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main(which: str, overrides: list[str]) -> None:
    rows = [row for line in ROWS.read_text("utf-8").splitlines() if (row := json.loads(line))["set"] == which]
    sections = [{"heading": row["heading"], "guidance": row["guidance"]} for row in rows]
    report = write_report({"title": "Requirements", "sections": sections}, *overrides)
    texts, counts = shipped("datasets/handbook") / "documents", Counter[str]()
    for source in report.sources:
        assert (texts / source.doc_id).read_text("utf-8")[source.start : source.end] == source.quote
    numbers = [part for section in report.sections for line in section.lines for part in line if isinstance(part, int)]
    assert {*numbers} == {*range(1, len(report.sources) + 1)}
    right = 0
    for row, section in zip(rows, report.sections, strict=True):
        kinds = []
        for need in row["requirements"]:
            listed = any(gap in need["text"] or need["text"] in gap for gap in section.gaps)
            kinds.append(KINDS[bool(need["answered"]), listed])
            say(f"{kinds[-1]:12} {section.heading}: {need['text']}")
        right += {*kinds} <= {"gap", "stated"}
        counts.update(kinds)
        say("\n".join("".join(map(str, line)) for line in section.lines))
    found, alarms, missed = counts["gap"], counts["false alarm"], counts["missed"]
    say(f"{dict(counts)}; {right} of {len(rows)} sections right; {len(numbers)} citations of {len(report.sources)} sources")
    for name, n in (("precision", found + alarms), ("recall", found + missed)):
        low, high = binomtest(found, n).proportion_ci(method="wilson")
        say(f"{name} {found}/{n} = {found / n:.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    tune = sys.argv[1:2] == ["tune"]
    main("tune" if tune else "report", sys.argv[1 + tune :])
