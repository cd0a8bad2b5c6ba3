"""A written report as Markdown, HTML or DOCX: texts are shown as text, and equal reports give equal bytes."""

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rag.core.errors import ConfigError, closest
from rag.core.files import replace_file
from rag.pipeline.write.report_writer import Line, Report
from rag.reporting.html import page
from rag.reporting.html.markdown import escape_markdown

BULLET = re.compile(r"\s*[-*•]\s+")
NO_TEXT = re.compile(r"[^\t\n\r -\ud7ff\ue002-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow, and those of MARK."""
LONGEST = 1000
"""The most characters of a quote that are shown."""
MARK = re.compile("\ue000(\\d+)\ue001")
"""A marker in a line while it is escaped."""


def summary(report: Report) -> str:
    """The size of a report in a sentence, with tokens and cost where a model wrote it."""
    written, cost = [section for section in report.sections if section.lines], report.cost
    parts = [f"sections: {len(written)}", f"without data: {sum(section.insufficient for section in written)}"]
    parts += [f"gaps: {sum(len(section.gaps) for section in written)}", f"sources: {len(report.sources)}"]
    parts += [f"tokens: {report.tokens:,}", f"US dollars: {'unknown' if math.isnan(cost) else f'{cost:.4f}'}"]
    return ", ".join(parts if report.tokens else parts[:4])


def parts(report: Report) -> Iterator[tuple[str, int, Line]]:
    """The parts of a report in their order: kind, the level of a heading or the number of a source, and text."""
    for kind, number, line in _parts(report):
        yield kind, number, tuple(NO_TEXT.sub("\ufffd", part) if isinstance(part, str) else part for part in line)


def _parts(report: Report) -> Iterator[tuple[str, int, Line]]:
    yield "heading", 0, (report.title,)
    for section in report.sections:
        yield "heading", section.number.count(".") + 1, (f"{section.number} {section.heading}",)
        for first, *rest in section.lines:
            yield "item" if BULLET.match(str(first)) else "text", 0, (BULLET.sub("", str(first), count=1), *rest)
        yield from (("note", 0, (f"Not found in the sources: {gap}",)) for gap in section.gaps)
        yield from (("note", 0, (f"Found by {finding}",)) for finding in section.findings)
    yield "heading", 1, ("Sources",)
    for each in report.sources:
        place, quote = " · ".join(filter(None, (each.doc_id, each.section, each.page))), " ".join(each.quote.split())
        shown = quote if len(quote) <= LONGEST else f"{quote[: LONGEST - 1]}…"
        yield "source", each.number, (f"[{each.number}] {place}: “{shown}”",)
    yield "text", 0, (summary(report),)


def markdown(report: Report) -> str:
    """The report as Markdown; markers are links to the sources."""
    begins, rows = {"item": "- ", "note": "> ", "text": ""}, list[str]()
    for kind, number, line in parts(report):
        marked = "".join(f"\ue000{part}\ue001" if isinstance(part, int) else part for part in line)
        own = f'<a id="source-{number}"></a>' if kind == "source" else f"{'#' * (number + 1)} "
        shown = escape_markdown(marked) if kind in begins else escape_markdown(f"x{marked}")[1:]
        rows.append(begins.get(kind, own) + MARK.sub(r"[\\[\1\\]](#source-\1)", shown))
    return "\n\n".join(rows) + "\n"


def html(report: Report) -> str:
    """The report as one HTML page without scripts."""
    tags = {"item": Markup("<ul><li>{}</li></ul>"), "note": Markup('<p class="missing">{}</p>'), "text": Markup("<p>{}</p>")}
    tags |= {"source": Markup('<p id="source-{n}">{}</p>'), "heading": Markup("<h{level}>{}</h{level}>")}
    link, rows = Markup('<a href="#source-{0}">[{0}]</a>'), []
    (_, _, title), *others = parts(report)
    for kind, number, line in others:
        shown = Markup("").join(link.format(part) if isinstance(part, int) else part for part in line)
        rows.append(tags[kind].format(shown, n=number, level=min(number + 1, 6)))
    return page.page_of("written.html", ["page.css"], [], title=title[0], body=Markup("\n").join(rows))


def docx(report: Report) -> bytes:
    """The report as a Word document with headings, lists, and links from markers to the sources."""
    from docx import Document

    document, made, fixed = Document(), io.BytesIO(), io.BytesIO()
    document.core_properties.title, document.core_properties.author, document.core_properties.comments = "", "", ""
    styles = {"item": "List Bullet", "note": "Intense Quote"}
    for kind, number, line in parts(report):
        heading = kind == "heading"
        paragraph = document.add_heading(level=number) if heading else document.add_paragraph(style=styles.get(kind))
        if kind == "source":
            _add(paragraph, "w:bookmarkStart", id=number, name=f"source{number}")
            _add(paragraph, "w:bookmarkEnd", id=number)
        for part in line:
            run = paragraph.add_run(f"[{part}]" if isinstance(part, int) else part)
            if isinstance(part, int):
                _add(paragraph, "w:hyperlink", anchor=f"source{part}").append(run._r)
    document.save(made)
    with zipfile.ZipFile(made) as written, zipfile.ZipFile(fixed, "w") as same:
        for name in written.namelist():  # the times of files in an archive would differ
            same.writestr(zipfile.ZipInfo(name), written.read(name), zipfile.ZIP_DEFLATED)
    return fixed.getvalue()


def _add(paragraph: Any, tag: str, **values: Any) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    paragraph._p.append(element := OxmlElement(tag, {qn(f"w:{name}"): str(value) for name, value in values.items()}))
    return element


FORMATS: Mapping[str, Callable[[Report], str | bytes]] = {".md": markdown, ".html": html, ".docx": docx}
"""The formats by the ending of a file."""


def check_path(path: Path) -> None:
    """ConfigError for a path with another ending than those of FORMATS, and for a folder."""
    if path.suffix.lower() not in FORMATS or path.is_dir():
        raise ConfigError("out", f"{str(path)!r} is no file of a report", closest(path.suffix, FORMATS))


def save(report: Report, path: Path) -> None:
    """Write a file in the format of its ending, all of it or nothing; OSError if it cannot be written."""
    made = FORMATS[path.suffix.lower()](report)
    replace_file(path, made.encode() if isinstance(made, str) else made)
