"""What the redactors find, and what they take for a secret."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from bench.measuring import DATA, HANDBOOK, ROOT, Row, Rows, cpu_seconds, public
from support.choices import build
from support.found_secrets import examples_by_rule, is_found, lookalikes
from support.generated_secrets import planted_broken, planted_names, planted_shapes
from support.service_secrets import planted_cut, planted_services

from rag.core.secrets.finder import find_secrets

TYPES = {
    "CREDIT_CARD": ("credit-card", 1.0, 1.0),
    "PHONE_NUMBER": ("phone", 0.610, 0.735),
    "EMAIL_ADDRESS": ("email", 1.0, 1.0),
    "US_SSN": ("us-ssn", 1.0, 0.863),
    "IBAN_CODE": ("iban", 1.0, 1.0),
    "IP_ADDRESS": ("ip-address", 1.0, 1.0),
    "US_DRIVER_LICENSE": ("driving-licence", 1.0, 0.053),
}
"""Our kind, and recall and precision of AnalyzerEngine 2.2.366 with all of its recognisers and a blank pipeline."""


def recall(what: str, planted: Sequence[Any]) -> Row:
    """How many planted values are found with every character."""
    return Row(what, sum(map(is_found, planted)) / len(planted), f"found of {len(planted)}")


def secrets(folder: Path) -> Rows:
    """Generated secrets that were held back, keys of services (rules were made with them), gitleaks, and clean lines."""
    chance = random.Random(2026)
    planted = [*planted_shapes(chance, 10), *planted_names(chance, 12), *planted_broken(chance, 2)]
    held = [each for each in planted if each.held_back]
    yield recall("secrets, held back", held)
    yield recall("secrets, held back, cut by an end of line", [each for each in held if each.context == "broken"])
    chance = random.Random(2026)
    yield recall("keys of services, development set", list(planted_services(chance)))
    yield recall("keys of a service that no rule names", list(planted_services(chance, 1, "acmebird")))
    yield recall("keys of services, cut", list(planted_cut(chance)))
    by_rule = examples_by_rule(public("gitleaks-literals") / "literals.jsonl")
    total = sum(by_rule.values(), Counter[tuple[bool, bool]]())
    secret, clean = (total[kind, True] + total[kind, False] for kind in (True, False))
    yield Row("gitleaks, secrets of its rules", total[True, True] / secret, f"found of {secret}")
    yield Row("gitleaks, no secrets of its rules", total[False, True] / clean, f"changed of {clean}")
    for source, lines in clean_lines().items():
        wrong = sum(bool(find_secrets(line)) for line in lines)
        yield Row(f"clean lines: {source}", wrong / len(lines), f"changed of {len(lines)}")


def lines_of(paths: Iterable[Path]) -> Iterator[str]:
    """The lines of files."""
    for path in sorted(paths):
        yield from path.read_text("utf-8", "ignore").splitlines()


def clean_lines() -> dict[str, list[str]]:
    """Up to 1,600 different lines without secrets by source; the first look most like secrets."""
    chance, code = random.Random(7), sorted(Path(json.__file__).parents[1].rglob("*.py"))
    chance.shuffle(code)
    texts: dict[str, Iterable[str]] = {
        **lookalikes(chance, 600, 400, 300, 300),
        "handbook": lines_of(HANDBOOK.rglob("*.md")),
        "docs": lines_of((ROOT / "docs").glob("*.md")),
        "code": lines_of(code[:600]),
        "locks": lines_of(ROOT.glob("*lock*")),
        "scifact": lines_of((DATA / "beir" / "scifact-train").glob("corpus.jsonl")),
        "chroma": lines_of((DATA / "chroma-a").rglob("*.md")),
        "financebench": lines_of((DATA / "financebench-dev").rglob("*.jsonl")),
    }
    found = {name: list(islice((one for one in dict.fromkeys(lines) if one.strip()), 1600)) for name, lines in texts.items()}
    return {name: lines for name, lines in found.items() if lines}


def personal(folder: Path) -> Rows:
    """Recall by type on presidio's generated sentences, beside presidio-analyzer; and the speed of both redactors."""
    file = public("presidio-generated-large") / "generated_large.json"
    redactor = build("redactor", "secrets_and_personal")
    spans, covered, right, found = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for row in json.loads(file.read_text("utf-8")):
        finds = redactor.find(row["full_text"])
        for span in row["spans"]:
            places = range(span["start_position"], span["end_position"])
            spans[span["entity_type"]] += 1
            covered[span["entity_type"]] += all(any(start <= place < end for start, end, _ in finds) for place in places)
        for start, end, kind in finds:
            found[kind] += 1
            same = (span for span in row["spans"] if TYPES.get(span["entity_type"], ("",))[0] == kind)
            right[kind] += any(span["start_position"] < end and start < span["end_position"] for span in same)
    for name, (kind, theirs, precise) in TYPES.items():
        note = f"precision {right[kind] / max(found[kind], 1):.3f}, of presidio {precise:.3f}"
        yield Row(f"personal data: {kind}", covered[name] / spans[name], f"found of {spans[name]}", "presidio", theirs, note)
    text = "".join(lines_of(HANDBOOK.rglob("*.md")))[:100_000]
    both, secrets_only = (1000 * cpu_seconds(partial(find, text), 3) for find in (redactor.find, find_secrets))
    yield Row("100 KB of the handbook, secrets and personal data", both, "CPU ms", "secrets alone", secrets_only)
