"""Reading 1,000 and 5,000 mixed files: the second load, the plan, memory, and the cost of confinement."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path

import pytest
from bench.measuring import DATA, Seconds
from support.choices import build
from support.sample_files import SAMPLES

from rag.components.redactors.none import NoRedactor
from rag.core.files import shipped
from rag.core.roles import Parser
from rag.documents.reading import read_files
from rag.documents.sandbox.limits import Limits

pytestmark = pytest.mark.bench
TAILS = {"pdf": b"\n%% %d", "html": b"<!-- %d -->", "csv": b"%d,x\n", "md": b"\n\nFile %d.\n", "rst": b"\n\nFile %d.\n"}
CHOICES = {
    "pdf": "pdfium",
    "docx": "docx",
    "html": "html",
    "csv": "csv",
    "rst": "rst",
    "pptx": "pptx",
    "xlsx": "xlsx",
    "md": "text",
}


def originals() -> Iterator[tuple[str, bytes]]:
    """Files of ordinary size: the handbook, public PDF and DOCX files, and the samples."""
    for path in sorted(shipped("datasets/handbook").rglob("documents/**/*.md")):
        yield "md", path.read_bytes()
    for path in sorted([*DATA.glob("pdf-samples/*/*.pdf"), *DATA.glob("icdar2013-eu/**/*.pdf")]):
        if path.stat().st_size < 500_000 and "password" not in path.name:
            yield "pdf", path.read_bytes()
    for path in sorted(DATA.glob("docx-docling/sources/*.docx")):
        yield "docx", path.read_bytes()
    for suffix in ("html", "csv", "rst", "pptx", "xlsx"):
        yield from [(suffix, SAMPLES[suffix]())] * 6


def varied(suffix: str, data: bytes, number: int) -> bytes:
    """The same content with other bytes; an archive gets a comment."""
    if suffix in TAILS:
        return data + TAILS[suffix] % number
    comment = b"%d" % number
    return data[:-2] + len(comment).to_bytes(2, "little") + comment


def mixed(folder: Path, count: int) -> dict[str, Path]:
    folder.mkdir(parents=True)
    files: dict[str, Path] = {}
    for number, (suffix, data) in enumerate(islice(cycle([*originals()]), count)):
        path = files[f"{number:05}.{suffix}"] = folder / f"{number:05}.{suffix}"
        path.write_bytes(varied(suffix, data, number))
    return files


def rag(folder: Path, *arguments: str) -> tuple[Seconds, str]:
    """The seconds of a whole process, and its output."""
    wall, cpu = time.perf_counter(), seconds(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "rag", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Seconds(time.perf_counter() - wall, seconds(resource.RUSAGE_CHILDREN) - cpu), done.stdout


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def test_a_second_load_of_a_thousand_files_takes_two_seconds(bench: Path) -> None:
    files = mixed(bench / "golden" / "documents", 1000)
    first = next(name for name in files if name.endswith(".md"))
    question = {"id": "q", "text": "Which file?", "split": "tune", "evidence": [{"any": [{"doc": first}]}]}
    (bench / "golden" / "questions.jsonl").write_text(json.dumps(question) + "\n")
    given = ["dataset.path=golden", "loader.parsers.pdf=pdfium"]
    fixed = json.dumps([*given, "embedder=hashing", "latency=0", "generator=none", "index=[bm25s]", "fusion=single"])
    (bench / "e.yaml").write_text(f"question: x?\ndataset: native\nsplit: all\nfixed: {fixed}\naxes:\n  k: k=1\n")
    counted, planned = rag(bench, "plan", "e.yaml", "--json")
    waiting = json.loads(planned)["files"]
    assert waiting == {"total": 1000, "to_parse": sum(not name.endswith(".md") for name in files), "seconds": 0.0} | {
        "unmeasured": waiting["to_parse"]
    }
    print(f"plan before: {counted}")  # noqa: T201
    print(f"first check: {rag(bench, 'dataset', 'check', 'native', *given)[0]}")  # noqa: T201
    again = [rag(bench, "dataset", "check", "native", *given)[0] for _ in range(3)]
    plan, planned = rag(bench, "plan", "e.yaml", "--json")
    assert json.loads(planned)["stages"]["distinct"] > 0
    (path := files[next(name for name in files if name.endswith(".pdf"))]).write_bytes(path.read_bytes() + b"\n")
    assert json.loads(rag(bench, "plan", "e.yaml", "--json")[1])["files"]["to_parse"] == 1
    print(f"second check: {', '.join(map(str, again))}; plan: {plan}")  # noqa: T201
    assert min(taken.cpu for taken in again) <= 2


def parsers() -> Mapping[str, Parser]:
    return {suffix: build("parser", choice) for suffix, choice in CHOICES.items()}


def test_confined_processes_take_little_more_than_the_parsers_alone(tmp_path: Path) -> None:
    chosen = parsers()
    files = {name: path for name, path in mixed(tmp_path / "f", 600).items() if not chosen[name.rpartition(".")[2]].in_process}
    read = list(read_files(files, chosen, NoRedactor(), 1))
    good = {file.name: files[file.name] for file in read if hasattr(file.content, "text")}
    alone = seconds(resource.RUSAGE_SELF)
    for name, path in good.items():
        chosen[name.rpartition(".")[2]].parse(path.read_bytes(), "file")
    alone = seconds(resource.RUSAGE_SELF) - alone
    before = seconds(resource.RUSAGE_SELF) + seconds(resource.RUSAGE_CHILDREN)
    pages = sum(getattr(file.content, "pages", 0) for file in read_files(good, chosen, NoRedactor(), 1))
    confined = seconds(resource.RUSAGE_SELF) + seconds(resource.RUSAGE_CHILDREN) - before
    print(f"{len(good)} files, {pages} pages: alone {alone:.1f} s, confined {confined:.1f} s, {confined / alone:.3f}")  # noqa: T201
    assert confined <= 1.3 * alone


STREAM = """
import resource, sys
from pathlib import Path
from support.choices import build
from rag.components.redactors.none import NoRedactor
from rag.documents.reading import read_files
parsers = dict(zip(sys.argv[2::2], map(lambda choice: build("parser", choice), sys.argv[3::2])))
files = {path.name: path for path in sorted(Path(sys.argv[1]).iterdir())}
count = sum(1 for _ in read_files(files, parsers, NoRedactor(), 2))
used = [resource.getrusage(who).ru_maxrss >> 10 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(count, *used)
"""


def test_five_thousand_files_take_a_gigabyte_at_most(tmp_path: Path) -> None:
    mixed(tmp_path / "f", 5000)
    chosen = [part for pair in CHOICES.items() for part in pair]
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": ""}
    command = [sys.executable, "-c", STREAM, str(tmp_path / "f"), *chosen]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    count, parent, child = map(int, done.stdout.split())
    print(f"{count} files: parent {parent} MB, a child {child} MB at most")  # noqa: T201
    assert count == 5000
    assert parent + 2 * child <= 1024
    assert child <= Limits().memory >> 20
