"""Parsers and redactors as axes of a sweep: gold that a parser loses counts as not found, and trials are compared by question."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_set import write_experiment
from support.swept_trial import called

from rag.analysis import blame
from rag.analysis.compare.trials import compared
from rag.analysis.headroom import measure_headroom
from rag.config.catalog import plugins
from rag.config.experiment import load
from rag.core.errors import ConfigError
from rag.core.records import Anchor, Block, Parsed
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import Scores
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, sweep
from rag.execution.sweep.sweep import Sweep
from rag.reporting.html.gather import gather

PLUGIN = '''\
"""Parsers of a made-up format: pages between form feeds."""

from typing import ClassVar

from rag.core.records import Block, Parsed


class Whole:
    """Every page is a block."""

    suffixes: ClassVar[tuple[str, ...]] = ("pages",)
    in_process: ClassVar[bool] = True

    def __init__(self, mark: str = "") -> None:
        self.mark = mark

    def parse(self, data: bytes, name: str) -> Parsed:
        blocks, text = [], ""
        for number, page in enumerate(data.decode().split("\\f"), 1):
            kept = self.kept(page)
            blocks.append(Block("text", len(text), len(text) + len(kept), number))
            text += kept + "\\n\\n"
        return Parsed(text, tuple(blocks), pages=len(blocks))

    def kept(self, page: str) -> str:
        return page


class Torn(Whole):
    """Hyphens at the ends of words, capitals, and a header in the middle of every page."""

    def kept(self, page: str) -> str:
        lines = page.upper().split("\\n")
        return "\\n".join([*lines[: len(lines) // 2], "", "THE HEADER OF THE PAGE", "", *lines[len(lines) // 2 :]])


class Halved(Whole):
    """Throws away 45 % of every page."""

    def kept(self, page: str) -> str:
        lines = page.split("\\n")
        return "\\n".join(line for number, line in enumerate(lines) if number % 20 < 11)


class Hushed:
    """Finds addresses."""

    def find(self, text):
        import re

        return [(match.start(), match.end(), "mail") for match in re.finditer(r"[a-z]+@[a-z]+", text)]
'''
TOPICS = ("harbour", "library", "railway", "orchard", "theatre", "brewery", "museum", "bakery", "quarry", "chapel")


def lines_of(topic: str) -> list[str]:
    """Twenty lines on a topic; the facts share their words, so that a passage more means a passage to be mistaken for."""
    return [
        f"In year {1900 + number} the {topic} counted {number * 37 + len(topic)} visitors, write to {topic}@town for number {number}."
        for number in range(20)
    ]


def quote_of(topic: str, number: int) -> str:
    """The quote of a question: of every fourth with an address."""
    visitors = number * 37 + len(topic)
    return f"the {topic} counted {visitors} visitors" + (f", write to {topic}@town" if number % 4 == 0 else "")


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A golden set in the made-up format, and a package with its parsers that is installed."""
    folder = tmp_path_factory.mktemp("town")
    documents = folder / "golden" / "documents"
    documents.mkdir(parents=True)
    rows = []
    for topic in TOPICS:
        (documents / f"{topic}.pages").write_text("\n".join(lines_of(topic)))
        for number in range(0, 20, 2):
            place = {"doc": f"{topic}.pages", "quote": quote_of(topic, number), "page": 1}
            text = f"How many visitors had the {topic} in year {1900 + number}?"
            rows.append({"id": f"{topic}-{number}", "text": text, "cluster": topic, "evidence": [{"any": [place]}]})
    (folder / "golden" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    package = folder / "site" / "townpages"
    (package / "conf" / "parser").mkdir(parents=True)
    (package / "conf" / "redactor").mkdir()
    (package / "__init__.py").write_text(PLUGIN)
    for group, name in (("parser", "Whole"), ("parser", "Torn"), ("parser", "Halved"), ("redactor", "Hushed")):
        (package / "conf" / group / f"{name.lower()}.yaml").write_text(f"_target_: townpages.{name}\n")
    info = folder / "site" / "townpages-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: townpages\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rag.plugins]\ntown = townpages\n")
    sys.path.insert(0, str(folder / "site"))
    plugins.cache_clear()
    yield folder
    sys.path.remove(str(folder / "site"))
    sys.modules.pop("townpages", None)
    plugins.cache_clear()


AXES = """\
  parser: ["+loader.parsers.pages=whole", "+loader.parsers.pages=torn", "+loader.parsers.pages=halved"]
  redactor: ["loader.redactor=none", "loader.redactor=hushed"]"""


@pytest.fixture(scope="module")
def done(town: Path) -> Iterator[tuple[Sweep, Any]]:
    """The sweep of the parsers and redactors, as `rag sweep` runs it."""
    fixed = ', chunker=sentence, chunker.sentences=1, chunker.step=1, fusion=single, "index=[dense]", embedder.dimensions=32'
    fixed += ', k=5, "metrics=[ndcg@10,recall@5,char_recall@5,iou@5]"'
    with contextlib.chdir(town):
        (town / "experiments").mkdir(exist_ok=True)
        path = write_experiment(town / "experiments" / "town.yaml", Path("golden"), AXES, fixed)
        ready = sweep.prepare(load(str(path), [f"store={town / 'store'}"]))
        yield sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None), ready


def test_it(done: Any) -> None:
    ran, ready = done
    for row in ran.board.rows:
        print(
            row.name,
            row.trial_id,
            {c: (round(v["mean"], 3), v["n"]) for c, v in row.metrics.items()},
            row.quotes,
            row.error[:300],
        )
    assert 0
