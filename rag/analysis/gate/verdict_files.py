"""A verdict as files: JSON, JUnit XML for a build server, Markdown for a pull request. Whatever stands in texts stays text."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rag.analysis.baseline import write_text
from rag.analysis.gate.decide import FAIL, INCONCLUSIVE, PASS, Row
from rag.analysis.gate.limits import Kept
from rag.analysis.gate.verdict import GateReport, Lost
from rag.core.errors import UserError

UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no character for."""
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~@#:$!\"'{}()]")
"""What Markdown, or GitHub over it, makes something of: links, emphasis, mentions, formulas, emoji."""
LONGEST = 160


def write(told: GateReport, folder: Path, junit: Path | None = None, markdown: Path | None = None) -> tuple[Path, ...]:
    """Write gate.json, junit.xml and gate.md into a folder, the last two elsewhere if told; their paths."""
    files = {
        folder / "gate.json": json.dumps(told.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        junit or folder / "junit.xml": junit_of(told),
        markdown or folder / "gate.md": markdown_of(told),
    }
    for path, text in files.items():
        write_text(path, text)
    return tuple(files)


def write_refusal(experiment: str, error: UserError, junit: Path | None, markdown: Path | None) -> None:
    """Say in the files that were asked for that a gate could not be asked: what an older run wrote there holds no more."""
    suite = Element("testsuite", name=f"gate {_printable(experiment)}", tests="1", errors="1")
    _broken(suite, experiment, "the gate can be asked", str(error))
    parts = [marker(experiment), f"## The gate of {code(experiment)} could not be asked", escaped(str(error))]
    for path, text in ((junit, _xml(suite)), (markdown, "\n\n".join(parts) + "\n")):
        if path is not None:
            write_text(path, text)


def junit_of(told: GateReport) -> str:
    """One test case per row and bound; what cannot be told is skipped unless the gate counts it as failed."""
    judged = told.judged
    suite = Element("testsuite", name=f"gate {_printable(told.experiment)}", tests=str(max(len(judged), 1)))
    outcomes = [_case(suite, told, each) for each in judged] or [
        _broken(suite, told.experiment, "the candidate runs", told.sentence)
    ]
    for name in ("failure", "error", "skipped"):
        suite.set({"failure": "failures", "error": "errors"}.get(name, name), str(outcomes.count(name)))
    return _xml(suite)


def _xml(suite: Element) -> str:
    indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _case(suite: Element, told: GateReport, each: Row | Kept) -> str:
    case = SubElement(suite, "testcase", classname=f"gate.{_printable(told.experiment)}", name=_printable(each.name))
    if each.shown == PASS:
        return "passed"
    strict = each.shown == INCONCLUSIVE and told.gated.gate.inconclusive == "fail"
    outcome = "failure" if each.shown == FAIL or strict else "skipped"
    SubElement(case, outcome, message=_printable(f"{each.shown}: {sentence(each)}"))
    return outcome


def _broken(suite: Element, experiment: str, name: str, said: str) -> str:
    case = SubElement(suite, "testcase", classname=f"gate.{_printable(experiment)}", name=name)
    SubElement(case, "error", message=_printable(said))
    return "error"


def _printable(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)


def sentence(each: Row | Kept) -> str:
    """What is said of a row or a bound, in figures and words."""
    value = figure(each.difference, signed=True) if isinstance(each, Row) else counted(each.value)
    within = "" if each.low is None else f" [{figure(each.low)}, {figure(each.high)}]"
    settle = f"; {each.needed:,} questions would settle it" if each.needed else ""
    return f"{value}{within}: {each.why}{settle}"


def figure(value: float | None, signed: bool = False) -> str:
    """A number with three digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def counted(value: float | None) -> str:
    """A number as `figure` has it, or a whole one."""
    return f"{value:.0f}" if value is not None and float(value).is_integer() else figure(value)


def marker(experiment: str) -> str:
    """The hidden line by which the comment of an experiment is found again."""
    return f"<!-- assay-gate {re.sub('[^A-Za-z0-9_.]', '-', experiment)} -->"


def markdown_of(told: GateReport) -> str:
    """The verdict first, then what it was read from, then the questions that lost most."""
    there = told.gated.kept.result
    parts = [marker(told.experiment), f"## {told.verdict}: gate of {code(told.experiment)}", escaped(told.sentence)]
    if told.replaced:
        parts.append(f"**{escaped(told.replaced)}**")
    if told.changed:
        parts.append("\n".join(f"- {code(key)}: {code(_short(old))} → {code(_short(new))}" for key, old, new in told.changed))
    if told.judged:
        parts.append(
            _table(("", "metric", "slice", "baseline", "now", "difference", "may lose", "questions", ""), _cells(told))
        )
    if told.lost:
        stages = "; ".join(f"{escaped(stage)}: {count}" for stage, count in told.losses)
        parts += [f"### Questions that lost most\n\n{stages}.", _table(("question", "kind", "was → is", "lost"), _losses(told))]
    asked = f"{escaped(told.counted)} of {code(told.gated.gate.split)}"
    level = "Intervals hold at 95 % for all rows together. " if told.rows else ""
    parts.append(f"{level}{asked}; baseline: trial {code(there.trial_id)} {code(there.name)}.")
    return "\n\n".join(parts) + "\n"


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(titles)
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(told: GateReport) -> list[list[str]]:
    cells = []
    for each in told.judged:
        why = escaped(each.why + (f"; {each.needed:,} questions would settle it" if each.needed else ""))
        within = "" if each.low is None else f" [{figure(each.low)}, {figure(each.high)}]"
        if isinstance(each, Row):
            figures = [figure(each.base), figure(each.candidate), figure(each.difference, signed=True) + within]
            part = code(each.slice) if each.slice else "all"
            cells.append([f"**{each.shown}**", code(each.column), part, *figures, figure(each.margin), str(each.n), why])
        else:
            cells.append([f"**{each.shown}**", code(each.text), "", "", counted(each.value) + within, "", "", "", why])
    return cells


def _losses(told: GateReport) -> list[list[str]]:
    return [
        [f"{code(lost.query_id)} {code(lost.text)}", code(lost.kind), _sides(lost), escaped(lost.stage)] for lost in told.lost
    ]


def _sides(lost: Lost) -> str:
    return "<br>".join(f"{code(column)} {figure(was)} → {figure(now)}" for column, (was, now) in lost.scores.items())


def _short(value: Any) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def code(text: str) -> str:
    """Any text as code: nothing in it is read as Markdown or HTML, and it mentions nobody."""
    flat = " ".join(_printable(str(text)).split())
    shown = flat if len(flat) <= LONGEST else flat[:LONGEST] + " …"
    return f"<code>{_entities(shown)}</code>" if shown else ""


def escaped(text: str) -> str:
    """Any text as running text; what stands behind an @ is parted from it, so that it mentions nobody."""
    return _entities(" ".join(_printable(text).split())).replace("&#64;", "&#64;\u200b")


def _entities(text: str) -> str:
    return SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)
