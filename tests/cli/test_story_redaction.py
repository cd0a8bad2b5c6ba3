"""No planted secret, and no planted personal datum, is in anything that a sweep, a bundle or a server writes."""

import contextlib
import io
import json
import logging
import random
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from support.generated_secrets import Planted, planted_names, planted_shapes
from support.sample_files import docx, pdf
from support.small_server import small_app, talk
from support.swept_trial import called

from rag.serve.logs import Lines

pytestmark = pytest.mark.system

PERSONAL = ("jane.roe@mail.example.org", "4111 1111 1111 1111", "GB33BUKB20201555555555", "+44 20 7946 0958", "078-05-1121")
IN_HISTORY, IN_REFERENCE, IN_REQUEST, IN_VARIABLE = (
    "Hist0ryPassw0rd!7",
    "Ref3rencePassw0rd!7",
    "R3questPassw0rd!7",
    "Var1ablePassw0rd!7",
)
IN_CONFIG = "sk-proj-C0nfigC0nfigC0nfigC0nfig77"
IN_FORMATS = ("C0lumnPassw0rd7", "PageP4ssw0rd77", "Fr0ntMatter77", "PdfP4ssw0rd77", "D0cxPassw0rd77")
IN_NAMES = ("N4mePassw0rd77", "F0lderPassw0rd7", "SkippedN4me77", "T4blePassw0rd77")
HASHING = ("embedder=hashing", "embedder.dimensions=64")
REDACTOR = "loader.redactor=secrets_and_personal"
WRITTEN = ("store", "mlartifacts", "mlflow.db", "reports", "bundle", "bundle.tar.zst", "sessions.db", "log.txt", "said.txt")
WRITTEN += ("manifest.html", "inspect.html", "inspect-bundle.html", "served.txt")
"""What is searched, in the folder of the test."""

QUESTIONS = {
    "Which team owns the billing service?": "Team Heron owns the billing service.",
    "Who repairs the lift?": "Team Crane repairs the lift.",
}


def planted() -> list[Planted]:
    """Secrets of all rules and forms, a few of each."""
    chance = random.Random(20)
    return [*planted_shapes(chance, 1), *planted_names(chance, 1)]


def write_corpus(folder: Path, secrets: list[Planted]) -> None:
    """A corpus in the formats that are read, with secrets in every file, and questions with secrets in their texts."""
    documents = folder / "golden" / "documents"
    documents.mkdir(parents=True)
    parts: dict[str, list[str]] = {"md": [], "txt": []}
    for number, secret in enumerate(secrets):
        parts[sorted(parts)[number % len(parts)]].append(secret.text)
    for suffix, texts in parts.items():
        for number in range(0, len(texts), 20):
            (documents / f"notes{number}.{suffix}").write_text("\n\n".join(texts[number : number + 20]), "utf-8")
    (documents / "users.csv").write_text("user,password\nbob,C0lumnPassw0rd7\n", "utf-8")
    (documents / "page.html").write_text("<h1>Access</h1><p>The password is PageP4ssw0rd77.</p>", "utf-8")
    (documents / "a.pdf").write_bytes(pdf("The password is PdfP4ssw0rd77.", PERSONAL[0]))
    (documents / "a.docx").write_bytes(docx("The password is D0cxPassw0rd77.", PERSONAL[0]))
    for name in ("password=N4mePassw0rd77.md", "password=F0lderPassw0rd7/a.txt", "password=SkippedN4me77.bin"):
        (documents / name).parent.mkdir(exist_ok=True)
        (documents / name).write_text("Some text.", "utf-8")
    (documents / "metadata.csv").write_text("path,note\nteam.md,password: T4blePassw0rd77\n", "utf-8")
    own = "Team Heron owns the billing service.\n\nTeam Crane repairs the lift.\n\n" + "\n".join(
        f"Contact: {each}" for each in PERSONAL
    )
    (documents / "team.md").write_text(f"---\npassword: Fr0ntMatter77\n---\n# Teams\n\n{own}\n", "utf-8")
    history = [{"role": "user", "text": f"my password is {IN_HISTORY}"}, {"role": "assistant", "text": "I see."}]
    more = {"history": history, "answers": [f"password: {IN_REFERENCE}"]}
    golden = ((text, [{"any": [{"doc": "team.md", "quote": quote}]}]) for text, quote in QUESTIONS.items())
    lines = (json.dumps({"id": text, "text": text, "evidence": evidence} | more) for text, evidence in golden)
    (folder / "golden" / "questions.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files below a path as they are, and what is inside of archives, databases and JSON."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            data, name = file.read_bytes(), str(file.relative_to(path.parent))
            yield from opened(name, data)
            if data.startswith(b"SQLite format 3"):
                with contextlib.closing(sqlite3.connect(file)) as connection:
                    yield from opened(f"{name}/sql", "\n".join(connection.iterdump()).encode())


def opened(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Bytes, and the bytes that they hold in another form."""
    yield name, data
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as reader:
            yield from opened(f"{name}/zstd", reader.read())
    if (place := data.find(b"PK\x03\x04")) >= 0:
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data[place:])) as archive:
            for inner in archive.namelist():
                yield from opened(f"{name}/{inner}", archive.read(inner))
    if b"\\u" in data or b'\\"' in data or b"\\n" in data:
        text = data.decode("utf-8", "replace")
        yield f"{name}/unescaped", text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\").encode()


def raw(folder: Path, values: list[str]) -> list[tuple[str, str]]:
    """The values that are written somewhere, with the places."""
    wanted = [value.encode() for value in values]
    places = [each for name in WRITTEN for path in sorted(folder.glob(f"{name}*")) for each in contents(path)]
    assert {name.partition("/")[0] for name, _ in places} >= {*WRITTEN}, "something was not written, or is elsewhere"
    return sorted({(name, value.decode()) for name, data in places for value in wanted if value in data})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which verbs work, with an MLflow of its own and a secret in the environment."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("BILLING_PASSWORD", IN_VARIABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def served(folder: Path) -> None:
    """Ask a server a question with a secret, twice in one session, and rate the answer; its log has texts."""
    handler = logging.FileHandler(folder / "log.txt")
    handler.setFormatter(Lines())
    logger = logging.getLogger("rag.serve")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    app = small_app(folder / "bundle", folder / "sessions.db", log_texts=True)

    async def asking(client: Any) -> None:
        session = None
        for text in ("Which team owns the billing service?", "And who repairs the lift?"):
            body = {"question": f"{text} My password is {IN_REQUEST}", "session": session}
            answer = await client.post("/chat", json=body)
            assert answer.status_code == 200, answer.text
            session = answer.json()["session"]
        rated = {"answer": answer.json()["id"], "rating": 1, "comment": f"password: {IN_REQUEST}"}
        assert (await client.post("/feedback", json=rated)).status_code < 300
        pages = [
            await client.get(path) for path in ("/documents", "/documents/team.md", "/documents/a.pdf", "/", "/openapi.json")
        ]
        assert all(page.status_code == 200 for page in pages), pages
        (folder / "served.txt").write_text("\n".join(page.text for page in pages), "utf-8")
        alone = await client.post("/ask", json={"question": f"Who repairs the lift? password: {IN_REQUEST}"})
        assert alone.status_code == 200, alone.text
        unknown = await client.post("/chat", json={"question": "x", "session": f"password: {IN_REQUEST}"})
        assert unknown.status_code >= 400
        assert IN_REQUEST not in unknown.text

    talk(app, asking)
    logger.removeHandler(handler)
    handler.close()


def write_experiment(folder: Path, name: str, *fixed: str) -> None:
    """An experiment with a lexical pipeline that reads earlier turns."""
    held = ["dataset.path=golden", "latency=0", "generator=extractive", REDACTOR, f"store={folder / 'store'}", *fixed]
    held += ["index=[bm25s]", "fusion=single", "memory=buffer", *HASHING]
    text = f"question: Q?\ndataset: native\nsplit: all\ncontrols: false\nfixed: {json.dumps(held)}\naxes:\n  k: k=1,2\n"
    (folder / "experiments").mkdir(exist_ok=True)
    (folder / "experiments" / f"{name}.yaml").write_text(text, "utf-8")


def test_no_planted_value_is_written_anywhere(folder: Path) -> None:
    secrets = planted()
    assert len({secret.kind for secret in secrets}) >= 200
    write_corpus(folder, secrets)
    write_experiment(folder, "small")
    write_experiment(folder, "configured", f"prompt.role='You have the key {IN_CONFIG}'")
    data = ("dataset.path=golden", REDACTOR, f"store={folder / 'store'}")
    said = [called(folder, "dataset", "check", "native", *data, *HASHING), called(folder, "ingest", "native", *data, "-v")]
    said += [called(folder, "ingest", "native", *data, "--json", "--html", "manifest.html")]
    said += [called(folder, "inspect", *data, *HASHING, "--html", "inspect.html")]
    for name, *more in (("small", "--no-track"), ("configured",)):
        said += [called(folder, "sweep", name, *more), called(folder, "report", name)]
    said.append(called(folder, "track", "small"))
    said.append(called(folder, "export", "small", "--to", "bundle", "--archive"))
    said.append(called(folder, "inspect", "bundle", "--html", "inspect-bundle.html"))
    with pytest.raises(AssertionError):
        called(folder, "export", "configured", "--to", "refused")
    assert not (folder / "refused").exists()
    called(
        folder,
        "ask",
        f"Which team owns the billing service? password: {IN_REQUEST}",
        "dataset.path=golden",
        "dataset=native",
        REDACTOR,
        "generator=extractive",
        "index=[bm25s]",
        "fusion=single",
        *HASHING,
    )
    served(folder)
    (folder / "said.txt").write_text("\n".join(said), "utf-8")
    values = [secret.secret for secret in secrets if len(secret.secret) >= 8]
    values += [*PERSONAL, IN_HISTORY, IN_REFERENCE, IN_REQUEST, IN_VARIABLE, IN_CONFIG, *IN_FORMATS, *IN_NAMES]
    assert len(values) >= 280
    assert raw(folder, values) == []
