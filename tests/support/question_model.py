"""A small corpus, and a scripted model that asks valid questions about it."""

import json
import random
import re
from pathlib import Path
from typing import Any

from support.scripted_server import Exchange, say

from rag.core.types import Document, Message, Query, Reply, Request

TEXTS = {
    "leave.md": """# Rules of absence

## Carrying days over

Staff may carry four unused days into the next year. Managers decide by 15 March about all other cases.

## Illness

A fit note is needed from the eighth day of an illness. The nurse Ada Bloom collects every fit note on Fridays.
""",
    "leave-2019.md": """# Rules of absence 2019 (superseded)

## Carrying days over

Staff may carry six unused days into the next year. Managers decide by 1 May about all other cases.
""",
    "boats.md": """# Boats of the harbour

## The fleet

| Boat | Crew | Wind |
|---|---|---|
| Coot | 2 | Force 3 |
| Dunlin | 5 | Force 6 |

## Care

The varnish of every hull is renewed in the boathouse at Tolley each autumn.
""",
    "moorings.md": """# Moorings

## Tolley

The boathouse at Tolley is open from noon, and its crane lifts 900 kg. Visitors pay 12 pounds for a night.
""",
}
DOCUMENTS = {name: Document(name, text) for name, text in TEXTS.items()}
UNIT = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
QUESTION = "For {}, what should a person on duty know about {} and {}?"
TOPICS = ("weather", "money", "music", "traffic", "bread", "paint", "gardens", "letters", "horses", "winter", "birds")


def question(asked: str) -> str:
    """A question that shares the last heading with the corpus, another one for other sentences."""
    return QUESTION.format(asked.partition("\n")[0].rpartition(" > ")[2], *random.Random(asked).sample(TOPICS, 2))


def value(request: Request) -> dict[str, Any]:
    """A valid reply to a request for a question: its answer is the end of the sentence that it names."""
    asked, system = request.messages[3].content, request.messages[0].content
    parts = [UNIT.findall(part) for part in asked.split("\n\n") if UNIT.search(part)]
    target = re.search(r"Ask about \[(\d+)\]", asked)
    units = [parts[0][int(target[1]) - 1]] if target else [part[0] for part in parts]
    if "old edition" in system:
        units = units[:1]
    made: dict[str, Any] = {"question": question(asked), "sentences": [int(number) for number, _ in units]}
    if "`operation`" in system:
        rows = parts[0][:2]
        crews = [re.search(r"Crew: (\d)", text)[1] for _, text in rows]  # type: ignore[index]
        return made | {"sentences": [int(number) for number, _ in rows], "operation": "sum", "numbers": crews}
    made["answer"] = " ".join(" ".join(text.split()[2:6]) for _, text in units)
    if "`before`" in system:
        made["before"] = {"question": question(asked).replace("know", "ask"), "answer": made["answer"]}
    return made


def oblige(request: Request) -> Reply:
    """The valid reply as JSON, 100 tokens at 0.001 dollars."""
    return Reply(json.dumps(value(request)), prompt_tokens=90, completion_tokens=10, cost=0.001)


def obliging(exchange: Exchange) -> None:
    """A step of a scripted server: the valid reply to the request."""
    messages = tuple(Message(message["role"], message["content"]) for message in exchange.asked["messages"])
    reply = oblige(Request(Query("", ""), (), messages))
    say(reply.text, {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens})(exchange)


def write_documents(folder: Path) -> Path:
    """The corpus as files; the folder."""
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder
