"""A gate report as files: JSON, JUnit XML for a build server, Markdown for a pull request. All texts are escaped."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rag.analysis.gate.decide import Row
from rag.analysis.gate.finding import FAIL, INCONCLUSIVE, PASS
from rag.analysis.gate.limits import BoundResult
from rag.analysis.gate.verdict import GateReport
from rag.core.errors import UserError
from rag.core.figures import brackets, figure, interval
from rag.core.files import replace_text

UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~@#:$!\"'{}()]")
"""Characters with a meaning in Markdown or on GitHub: links, emphasis, mentions, formulas, emoji."""
LONGEST = 160


def write(report: GateReport, folder: Path | None, junit: Path | None = None, markdown: Path | None = None) -> tuple[Path, ...]:
    """Write gate.json, junit.xml and gate.md into a folder, or the last two to other paths; return the paths.

    Without a folder only the files with a path are written.
    """
    files = {
        folder and folder / "gate.json": json.dumps(report.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        junit or (folder and folder / "junit.xml"): junit_of(report),
        markdown or (folder and folder / "gate.md"): markdown_of(report),
    }
    written = {path: text for path, text in files.items() if path}
    for path, text in written.items():
        replace_text(path, text)
    return tuple(written)


def write_refusal(experiment: str, error: UserError, junit: Path | None, markdown: Path | None) -> None:
    """Report in the requested files that the gate could not run, so that results of an older run do not remain."""
    suite = Element("testsuite", name=f"gate {_printable(experiment)}", tests="1", errors="1")
    _broken(suite, experiment, "the gate can run", str(error))
    parts = [marker(experiment), f"## The gate of {code(experiment)} could not run", escaped(str(error))]
    for path, text in ((junit, _xml(suite)), (markdown, "\n\n".join(parts) + "\n")):
        if path is not None:
            replace_text(path, text)


def junit_of(report: GateReport) -> str:
    """One test case per row and bound; INCONCLUSIVE is skipped unless the gate counts it as failed."""
    judged = report.judged
    suite = Element("testsuite", name=f"gate {_printable(report.experiment)}", tests=str(max(len(judged), 1)))
    outcomes = [_case(suite, report, each) for each in judged] or [
        _broken(suite, report.experiment, "the candidate runs", report.sentence)
    ]
    for name in ("failure", "error", "skipped"):
        suite.set({"failure": "failures", "error": "errors"}.get(name, name), str(outcomes.count(name)))
    return _xml(suite)


def _xml(suite: Element) -> str:
    indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _case(suite: Element, report: GateReport, each: Row | BoundResult) -> str:
    case = SubElement(suite, "testcase", classname=f"gate.{_printable(report.experiment)}", name=_printable(each.name))
    if each.label == PASS:
        return "passed"
    strict = each.label == INCONCLUSIVE and report.inconclusive == "fail"
    outcome = "failure" if each.label == FAIL or strict else "skipped"
    SubElement(case, outcome, message=_printable(f"{each.label}: {sentence(each)}"))
    return outcome


def _broken(suite: Element, experiment: str, name: str, message: str) -> str:
    case = SubElement(suite, "testcase", classname=f"gate.{_printable(experiment)}", name=name)
    SubElement(case, "error", message=_printable(message))
    return "error"


def _printable(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)


def sentence(each: Row | BoundResult) -> str:
    """A row or a bound in figures and words."""
    return f"{value_of(each)}: {reason(each)}"


def value_of(each: Row | BoundResult) -> str:
    """The difference of a row or the value of a bound, with its interval."""
    if isinstance(each, Row):
        return interval(each.difference, each.low, each.high, signed=True)
    whole = each.value is not None and float(each.value).is_integer()
    value = f"{each.value:.0f}" if whole else figure(each.value)
    return f"{value} {brackets(each.low, each.high)}".rstrip()


def reason(each: Row | BoundResult) -> str:
    """The reason of a verdict, with the number of questions that would settle it."""
    return each.why + (f"; {each.needed:,} questions would settle it" if each.needed else "")


def marker(experiment: str) -> str:
    """The hidden line that identifies the comment of an experiment."""
    return f"<!-- assay-gate {re.sub('[^A-Za-z0-9_.]', '-', experiment)} -->"


def markdown_of(report: GateReport) -> str:
    """The report as Markdown: verdict, changes, rows and bounds, the questions that lost most."""
    trial, name = report.baseline
    parts = [marker(report.experiment), f"## {report.verdict}: gate of {code(report.experiment)}", escaped(report.sentence)]
    if report.replaced:
        parts.append(f"**{escaped(report.replaced)}**")
    if report.changed:
        parts.append("\n".join(f"- {code(key)}: {code(_short(old))} → {code(_short(new))}" for key, old, new in report.changed))
    if report.judged:
        head = ("", "metric", "slice", "baseline", "now", "difference", "may lose", "questions", "")
        parts.append(_table(head, _cells(report)))
    if report.lost:
        stages = "; ".join(f"{escaped(stage)}: {count}" for stage, count in report.losses)
        parts += [
            f"### Questions that lost most\n\n{stages}.",
            _table(("question", "kind", "was → is", "lost"), _losses(report)),
        ]
    questions = f"{escaped(report.counted)} of {code(report.split)}"
    parts += [escaped(said) for said in (report.power, *report.notes) if said]
    level = "Intervals hold at 95 % for all rows together. " if report.rows else ""
    parts.append(f"{level}{questions}; baseline: {f'trial {code(trial)} ' if trial else ''}{code(name)}.")
    return "\n\n".join(parts) + "\n"


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(titles)
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(report: GateReport) -> list[list[str]]:
    cells = []
    for each in report.judged:
        if isinstance(each, Row):
            figures = [figure(each.base), figure(each.candidate), value_of(each), figure(each.margin), str(each.n)]
            named = [code(each.column), code(each.slice) if each.slice else "all", *figures]
        else:
            named = [code(each.text), "", "", value_of(each), "", "", ""]
        cells.append([f"**{each.label}**", *named, escaped(reason(each))])
    return cells


def _losses(report: GateReport) -> list[list[str]]:
    rows = []
    for lost in report.lost:
        scores = (f"{code(column)} {figure(was)} → {figure(now)}" for column, (was, now) in lost.scores.items())
        rows.append([f"{code(lost.query_id)} {code(lost.text)}", code(lost.kind), "<br>".join(scores), escaped(lost.stage)])
    return rows


def _short(value: Any) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def code(text: str) -> str:
    """A text as code: nothing in it is read as Markdown, HTML or a mention."""
    flat = " ".join(_printable(str(text)).split())
    shown = flat if len(flat) <= LONGEST else flat[:LONGEST] + " …"
    return f"<code>{_entities(shown)}</code>" if shown else ""


def escaped(text: str) -> str:
    """A text as running text; a zero-width space after @ prevents mentions."""
    return _entities(" ".join(_printable(text).split())).replace("&#64;", "&#64;\u200b")


def _entities(text: str) -> str:
    return SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)
