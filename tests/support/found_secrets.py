"""What the finder finds of generated secrets, and lines that look like secrets and hold none: for tests and benches."""

import base64
import json
import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.generated_secrets import Planted

from rag.core.secrets.finder import find_secrets
from rag.core.secrets.shapes import shape_rules


def is_found(planted: Planted) -> bool:
    """Whether every character of the secret is in a find."""
    at = planted.text.index(planted.secret)
    places = {place for find in find_secrets(planted.text) for place in range(find.start, find.end)}
    return places.issuperset(range(at, at + len(planted.secret)))


def lookalikes(chance: random.Random, uuids: int, commits: int, images: int, hashes: int) -> Mapping[str, Sequence[str]]:
    """Lines with long random values that are no secrets, by kind."""
    names = ("id", "run", "session", "trace")
    return {
        "uuid": [f"{names[number % 4]}: {uuid.UUID(int=chance.getrandbits(128))}" for number in range(uuids)],
        "git": [f"commit {chance.getrandbits(160):040x}" for _ in range(commits)],
        "images": [f"![x](data:image/png;base64,{base64.b64encode(chance.randbytes(600)).decode()})" for _ in range(images)],
        "sha": [f"sha512-{base64.b64encode(chance.randbytes(64)).decode()}  x-{number}.tgz" for number in range(hashes)],
    }


def examples_by_rule(path: Path) -> Mapping[str, Counter[tuple[bool, bool]]]:
    """Of gitleaks' examples in a file, the counts of (holds a secret, is found by its rule), by rule."""
    rules = {rule.name: rule for rule in shape_rules().rules}
    counts: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        data, rule = base64.b64decode(row["text_base64"]), rules.get(row["rule"])
        hit = rule is not None and rule in shape_rules().candidates(data) and any(rule.places(data))
        counts[row["rule"]][row["secret"], hit] += 1
    return counts
