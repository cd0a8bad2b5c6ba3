"""Processor time of folders of mixed files."""

import json
import resource
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from bench.measuring import DATA, HANDBOOK, Row, Rows, public, rag
from support.choices import build
from support.sample_files import SAMPLES

from rag.components.redactors.none import NoRedactor
from rag.documents.reading import read_files

TAILS = {"pdf": b"\n%% %d", "html": b"<!-- %d -->", "csv": b"%d,x\n", "md": b"\n\nFile %d.\n", "rst": b"\n\nFile %d.\n"}
CHOICES = {"pdf": "pdfium", "md": "text"} | {suffix: suffix for suffix in ("docx", "html", "csv", "rst", "pptx", "xlsx")}


def originals() -> Iterator[tuple[str, bytes]]:
    """Files of ordinary size: the handbook, public PDF and DOCX files, and the samples."""
    for path in [*sorted(HANDBOOK.rglob("documents/**/*.md")), *sorted(DATA.glob("docx-docling/sources/*.docx"))]:
        yield path.suffix[1:], path.read_bytes()
    for path in sorted([*DATA.glob("pdf-samples/*/*.pdf"), *DATA.glob("icdar2013-eu/**/*.pdf")]):
        if path.stat().st_size < 500_000 and "password" not in path.name:
            yield "pdf", path.read_bytes()
    for suffix in ("html", "csv", "rst", "pptx", "xlsx"):
        yield from [(suffix, SAMPLES[suffix]())] * 6


def mixed(folder: Path, count: int) -> dict[str, Path]:
    """Files with the same contents and other bytes; an archive gets a comment."""
    folder.mkdir(parents=True)
    found: dict[str, Path] = {}
    for number, (suffix, data) in enumerate(islice(cycle([*originals()]), count)):
        comment = b"%d" % number
        archived = data[:-2] + len(comment).to_bytes(2, "little") + comment
        path = found[f"{number:05}.{suffix}"] = folder / f"{number:05}.{suffix}"
        path.write_bytes(data + TAILS[suffix] % number if suffix in TAILS else archived)
    return found


def seconds(*whose: int) -> float:
    """Processor seconds so far."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def folder(folder: Path) -> Rows:
    """Mixed files: confined processes beside the parsers alone, and a second load beside the first."""
    public("docx-docling")
    made = mixed(folder / "golden" / "documents", 600)
    chosen = {suffix: build("parser", choice) for suffix, choice in CHOICES.items()}
    apart = {name: path for name, path in made.items() if not chosen[name.rpartition(".")[2]].in_process}
    good = {file.name: apart[file.name] for file in read_files(apart, chosen, NoRedactor(), 1) if hasattr(file.content, "text")}
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    began = seconds(*both)
    for name, path in good.items():
        chosen[name.rpartition(".")[2]].parse(path.read_bytes(), "file")
    middle = seconds(*both)
    list(read_files(good, chosen, NoRedactor(), 1))
    what = f"{len(good)} files in confined processes"
    yield Row(what, seconds(*both) - middle, "CPU s", "the parsers alone", middle - began)
    question = {"id": "q", "text": "Which file?", "evidence": [{"any": [{"doc": next(n for n in made if n.endswith(".md"))}]}]}
    (folder / "golden" / "questions.jsonl").write_text(json.dumps(question) + "\n")
    check = ("data", "check", "native", "dataset.path=golden", "loader.parsers.pdf=pdfium")
    first, again = rag(*check), rag(*check)
    yield Row(f"rag data check, {len(made)} files, again", again.cpu, "CPU s", "first", first.cpu, first.told)
