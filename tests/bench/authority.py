"""How many planted repetitions and contradictions `prompt.authority` finds, and how many other statements it takes for one.

    python tests/bench/authority.py handbook squad2-a

A sentence of a document with four words or more is said again: word for word, without one of its words, with another number,
with `not` behind its first auxiliary verb. Sentences of other documents and of the same one are the statements to leave alone.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parents[1]))

from rag.components.prompts.authority import AuthorityOrder
from rag.config.build import Components
from rag.config.catalog import choice
from rag.core.types import Document, Recalled, Turn
from rag.execution.sweep.open_config import config_of, materials
from rag.pipeline.prompt.authority import Said, read, settled

VERB = re.compile(r"\b(?:is|are|was|were|must|may|can|will|should|has|have|does|do)\b")
NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?![\w,-]|\.\d)")
PAIRS, PART = 150, 20_000
"""Planted statements of each kind, and the most characters of a file: longer documents are cut."""


def planted(said: Said, dice: random.Random) -> Iterator[tuple[str, str, str]]:
    """Kind, statement and right relation."""
    text = said.text
    words = text.split()
    plain = [place for place, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 3]
    yield "word for word", text, "repeats"
    if plain and not VERB.search(words[plain[0]]):
        place = dice.choice(plain)
        yield "without a word", " ".join([*words[:place], *words[place + 1 :]]), "repeats"
    if number := NUMBER.search(text):
        other = str(int(number[0]) + dice.randint(1, 9))
        yield "other number", text[: number.start()] + other + text[number.end() :], "contradicts"
    if not said.negated and (verb := VERB.search(text)) and not text.endswith("?"):
        yield "denied", f"{text[: verb.end()]} not{text[verb.end() :]}", "contradicts"


def measured(documents: list[Document], rules: AuthorityOrder) -> None:
    """Print found and false shares with Wilson intervals."""
    dice, right, total = random.Random(16), Counter[str](), Counter[str]()
    parts = ((one.doc_id, one.text[at : at + PART]) for one in documents for at in range(0, len(one.text), PART))
    texts = [Document(f"{name} {number}", text) for number, (name, text) in enumerate(parts)]
    known = {document.doc_id: [said for said in read(document.text, "", rules) if len(said.stems) >= 4] for document in texts}
    rows = [(document, said) for document in texts for said in known[document.doc_id] if not said.asks]
    dice.shuffle(rows)

    def told(text: str, document: Document) -> str:
        _, findings = settled(rules, Recalled((Turn("assistant", text),)), [document])
        return (
            "contradicts"
            if any("' contradicts " in one.what or '" contradicts ' in one.what for one in findings)
            else ("repeats" if findings else "")
        )

    for document, said in rows[:600]:
        for kind, text, wanted in planted(said, dice):
            if total[kind] < PAIRS:
                total[kind] += 1
                right[kind] += told(text, document) == wanted
    for number, (document, said) in enumerate(rows[:600]):
        other = rows[(number + 1) % len(rows)][1]
        if not any(other.text == one.text for one in known[document.doc_id]):
            total["other document (false)"] += 1
            right["other document (false)"] += bool(told(other.text, document))
        rest = Document(document.doc_id, document.text.replace(said.text, ""))
        total["other sentence (false)"] += 1
        right["other sentence (false)"] += told(said.text, rest) == "contradicts"
    for kind, count in total.items():
        low, high = binomtest(right[kind], count).proportion_ci(method="wilson")
        print(f"same={rules.same} {kind}: {right[kind]}/{count} = {right[kind] / count:.3f} [{low:.3f}, {high:.3f}]")  # noqa: T201


if __name__ == "__main__":
    node = {**choice("prompt", "plain")}
    for name in sys.argv[1:]:
        config = config_of([*name.split(), "index=[bm25s]", "fusion=single", "generator=none"])
        authority = config_of(["prompt=plain"])["prompt"]["authority"]
        for same in (0.6, 0.7, 0.8, 0.9):
            rules = Components().build({**authority, "same": same}, "prompt.authority")
            print(name)  # noqa: T201
            measured(list(materials(config).golden.documents), rules)
