"""How passages are found that other tools changed, and the time and memory of long files."""

import random
import re
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.measuring import DATA, Report, rag

from rag.authoring.exchange.places import Places
from rag.components.loaders.chroma import ChromaLoader
from rag.components.loaders.squad import SquadLoader
from rag.core.files import shipped
from rag.core.types import Document, Span

pytestmark = pytest.mark.bench
COUNT = 1000
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CURLY = str.maketrans({"'": "’", '"': "”", "-": "–"})
Change = Callable[[str, random.Random], str]


def typos(rate: float) -> Change:
    """Replace letters, each with probability `rate`."""
    return lambda text, rng: "".join(rng.choice(LETTERS) if each.isalpha() and rng.random() < rate else each for each in text)


def spaced(text: str, rng: random.Random) -> str:
    """Other white space between the words."""
    return "".join(rng.choice((" ", "  ", "\n", " \n ")) if each.isspace() else each for each in text)


def other_number(text: str, rng: random.Random) -> str:
    """One digit changed."""
    place = rng.choice([hit.start() for hit in re.finditer(r"\d", text)])
    return f"{text[:place]}{(int(text[place]) + rng.randint(1, 9)) % 10}{text[place + 1 :]}"


def shorter(text: str, _: random.Random) -> str:
    """Without the sentence in the middle."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    return " ".join(parts[: len(parts) // 2] + parts[len(parts) // 2 + 1 :])


CHANGES: dict[str, Change] = {
    "white space": spaced,
    "marks removed": lambda text, _: re.sub(r"[*_`#>|\[\]]", "", text),
    "curly quotes": lambda text, _: text.translate(CURLY),
    "upper case": lambda text, _: text.upper(),
    **{f"{rate:.0%} typos": typos(rate) for rate in (0.01, 0.03, 0.05)},
    "1 % typos and a number": lambda text, rng: typos(0.01)(other_number(text, rng), rng),
    "a number": other_number,
    "a sentence less": shorter,
}


def corpora() -> dict[str, dict[str, Document]]:
    """The handbook, and two public sets where they are."""
    folder = shipped("datasets/handbook") / "documents"
    files = [path for path in sorted(folder.rglob("*.*")) if path.suffix in (".md", ".txt")]
    found = {"handbook": [Document(path.relative_to(folder).as_posix(), path.read_text("utf-8")) for path in files]}
    if (DATA / "squad2-a").is_dir():
        found["squad2-a"] = list(SquadLoader(str(DATA / "squad2-a")).load())
        found["chroma-a"] = list(ChromaLoader(str(DATA / "chroma-a")).load())
    return {name: {document.doc_id: document for document in documents} for name, documents in found.items()}


def passages(documents: dict[str, Document], rng: random.Random) -> list[Span]:
    """Random stretches of 100 to 1,000 characters from sentence to sentence, with a number and five sentences or less."""
    found: list[Span] = []
    while len(found) < COUNT:
        document = rng.choice(list(documents.values()))
        starts = [0, *(hit.end() for hit in re.finditer(r"[.!?]\s+", document.text))]
        at = rng.randrange(len(starts) - 1)
        span = Span(document.doc_id, starts[at], starts[min(at + rng.randint(1, 6), len(starts) - 1)])
        text = document.text[span.start : span.end].strip()
        if 100 <= len(text) <= 1000 and re.search(r"\d", text):
            found.append(
                Span(span.doc_id, document.text.index(text, span.start), document.text.index(text, span.start) + len(text))
            )
    return found


def verdict(found: tuple[Span, ...], text: str, documents: dict[str, Document], span: Span) -> str:
    """`right` if a place has 90 % of the union of both, `inside` the span, `same words` elsewhere, `wrong`, or `not found`."""
    if not found:
        return "not found"
    for place in found:
        both = max(min(place.end, span.end) - max(place.start, span.start), 0)
        if place.doc_id == span.doc_id and both >= 0.9 * (max(place.end, span.end) - min(place.start, span.start)):
            return "right"
        if place.doc_id == span.doc_id and span.start <= place.start < place.end <= span.end:
            return "inside"
    words = [re.findall(r"\w+", documents[place.doc_id].text[place.start : place.end]) for place in found]
    return "same words" if re.findall(r"\w+", text) in words else "wrong"


def test_changed_passages() -> None:
    sets = corpora()
    report = Report(f"{COUNT} passages of each set, changed", ("set", "change", "ms each", "places"))
    for name, documents in sets.items():
        places, rng = Places(documents), random.Random(15)
        chosen = passages(documents, rng)
        for title, change in CHANGES.items():
            start, seen = time.process_time(), Counter[str]()
            for span in chosen:
                text = documents[span.doc_id].text[span.start : span.end]
                seen[verdict(places.find(change(text, rng)).spans, text, documents, span)] += 1
            report.row(name, title, f"{1000 * (time.process_time() - start) / COUNT:.1f}", dict(seen))
            assert seen["wrong"] == 0
            if "number" in title:
                assert seen["not found"] == COUNT
            elif title != "a sentence less":
                assert seen["right"] + seen["same words"] >= 0.99 * COUNT
        others = [document.text for other, texts in sets.items() if other != name for document in texts.values()]
        strange = [text[at : at + 300] for text in others for at in range(0, min(len(text), 9000), 300)]
        anchored = sum(bool(places.find(text).spans) for text in strange)
        report.row(name, "of another set", "", f"{anchored} of {len(strange)} found")
        assert anchored == 0
    report.show()


def test_many_contexts_over_many_documents() -> None:
    rng = random.Random(15)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    report = Report(
        "Contexts of 500 characters, half of them with 2 % typos", ("documents", "contexts", "found", "index s", "find s")
    )
    for count in (1250, 2500, 5000):
        texts = [" ".join(rng.choices(words, weights, k=500)) for _ in range(count)]
        start = time.process_time()
        places = Places({f"{number}.md": Document(f"{number}.md", text) for number, text in enumerate(texts)})
        built, found = time.process_time() - start, 0
        for number in range(2 * count):
            at = rng.randrange(len(texts[number % count]) - 600)
            context = texts[number % count][at : at + 500]
            found += places.find(typos(0.02)(context, rng) if number % 2 else context).spans != ()
        report.row(count, 2 * count, found, f"{built:.1f}", f"{time.process_time() - start - built:.1f}")
        assert found >= 0.99 * 2 * count
    report.show()


def test_a_million_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    report = Report("rag dataset import of a CSV file, memory the most so far", ("rows", "s", "MB"))
    for count in (250_000, 1_000_000):
        with path.open("w", encoding="utf-8") as file:
            file.write("id,question,answer,kind\n")
            file.writelines(
                f'{n},"What is the value of item {n}, if any?","It is {n * 7}, as stated.",factoid\n' for n in range(count)
            )
        done = rag("dataset", "import", str(path), "--to", str(tmp_path / f"set{count}"), "--json")
        assert done.content["questions"] == count
        report.row(count, str(done.taken), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
    report.show()
