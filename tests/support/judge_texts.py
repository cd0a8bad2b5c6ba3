"""Texts that are supported or not, and an encoder without a model."""

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from rag.core.types import Reply, Request

MARKS = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
WORDS = re.compile(r"\w+|[^\w\s]")
OF_WORDS = ("~judge.encoder.runtime", "judge.encoder._target_=support.judge_texts.WordEncoder")
"""Overrides that give the local judge an encoder without a model; `support` must be a trusted package."""

LEAVE = (
    "Everyone has 25 days of paid leave per year, and 30 from the fifth year on. Leave must be taken by 31 March of the next "
    "year. Requests go to the team lead at least two weeks before the first day. Unpaid leave is not granted during probation."
)
BOILER = (
    "The boiler in the Basel office was replaced in November 2019 by the firm Keller & Sons. It cost 48,000 francs. Anna "
    "Keller inspects it every spring. The old boiler had failed twice in the winter of 2018."
)
TRAVEL = (
    "Trains are booked in second class; journeys of more than four hours may be booked in first class. Flights within Europe "
    "are only reimbursed when the train takes longer than eight hours. Receipts are handed in within 60 days. Hotels may cost "
    "up to 150 francs a night, breakfast included."
)
CONTEXTS = (LEAVE, BOILER, TRAVEL)
SUPPORTED = (
    *("Everyone has 25 days of paid leave per year.", "Each year comes with 25 days of leave that are paid."),
    *("From the fifth year on there are 30 days of leave.", "Leave has to be taken by March 31 of the following year."),
    *("A request for leave goes to the team lead two weeks ahead.", "During probation, unpaid leave is not granted."),
    "Keller & Sons replaced the boiler in the Basel office in Nov. 2019.",
    "The replacement of the boiler cost CHF 48000, that is 48,000 francs.",
    *("Anna Keller inspects the boiler each spring.", "The old boiler failed two times in winter 2018."),
    "Trains are booked second class, but first class may be booked for journeys of more than 4 hours.",
    "A flight within Europe is reimbursed only if the train takes longer than 8 hours.",
    *("Receipts must be handed in within 60 days.", "A hotel may cost up to 150 francs per night with breakfast."),
)
UNSUPPORTED = (
    *("Everyone has 28 days of paid leave per year.", "From the fifth year on there are 35 days of leave."),
    "Leave has to be taken by 30 June of the following year.",
    "A request for leave goes to the human resources department six weeks ahead.",
    *("During probation, unpaid leave is granted.", "Leave is unlimited, and nobody has to ask for it."),
    "Meier & Co replaced the boiler in the Basel office in November 2019.",
    *("Keller & Sons replaced the boiler in the Zurich office in November 2017.", "The boiler cost 84,000 francs."),
    *("Anna Keller never inspects the boiler.", "The boiler was painted blue by a famous artist from Lisbon."),
    "Trains are always booked in business class, even for short trips to the airport.",
    "Flights within Europe are not reimbursed when the train takes longer than eight hours.",
    "Receipts must be handed in within 90 days.",
    "A hotel may cost up to 400 francs per night, and dinner is reimbursed as well.",
    "The cafeteria serves vegetarian food on Mondays.",
)


class WordEncoder:
    """One random vector per word, independent of the context."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        means = [np.array([_vector(word) for word in WORDS.findall(text)]).reshape(-1, 32).sum(axis=0) for text in texts]
        return np.array(means, np.float32).reshape(-1, 32)

    embed_queries = embed_documents

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [np.array([_vector(word) for word in WORDS.findall(text)], np.float32).reshape(-1, 32) for text in texts]

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in WORDS.finditer(text)]

    def fingerprint(self) -> str:
        return "words"


def _vector(word: str) -> NDArray[np.float64]:
    drawn = np.random.default_rng(list(sha256(word.lower().encode("utf-8", "replace")).digest())).normal(size=32)
    return np.asarray(drawn / np.linalg.norm(drawn))


class SayingYes:
    """A generator that calls every claim supported."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        if any("Claims:" not in request.messages[-1].content for request in requests):
            return [Reply('{"relevance": 2}') for _ in requests]
        numbers = [MARKS.findall(request.messages[-1].content.rpartition("Claims:")[2]) for request in requests]
        rows = [
            [{"claim": int(number), "supported": True, "context": 1, "quote": "25 days"} for number in row] for row in numbers
        ]
        return [Reply(json.dumps({"verdicts": row})) for row in rows]

    def stream(self, request: Request) -> Iterator[str]:
        return iter(())


class SayingAsRagasWants:
    """A generator that fills in the forms of ragas: statements are sentences, and one is supported that the context holds."""

    def __init__(self) -> None:
        self.seen: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.seen += requests
        return [Reply(json.dumps(_filled(request.messages[0].content)), (), 5, 2, 0.25) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        return iter(())


def _filled(prompt: str) -> object:
    given = json.JSONDecoder().raw_decode(prompt, prompt.rindex("input: ") + 7)[0]
    if '"title": "StatementGeneratorOutput"' in prompt:
        return {"statements": _sentences(given["answer"])}
    if '"title": "ClaimDecompositionOutput"' in prompt:
        return {"claims": _sentences(given["response"])}
    if '"title": "NLIStatementOutput"' in prompt:
        rows = [(text, int(text in given["context"])) for text in given["statements"]]
        return {"statements": [{"statement": text, "reason": "", "verdict": verdict} for text, verdict in rows]}
    if '"title": "AnswerRelevanceOutput"' in prompt:
        return {"question": given["response"], "noncommittal": 0}
    if '"title": "ContextPrecisionOutput"' in prompt:
        return {"reason": "", "verdict": int(given["answer"] in given["context"])}
    if '"title": "ContextRecallOutput"' in prompt:
        rows = _sentences(given["answer"])
        held = [{"statement": text, "reason": "", "attributed": int(text in given["context"])} for text in rows]
        return {"classifications": held}
    return {"rating": 1}


def _sentences(text: str) -> list[str]:
    return [f"{part.strip()}." for part in text.split(".") if part.strip()]


class SayingNothing:
    """A generator whose replies no judge can read."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply("I would rather not.", (), 3, 4, 0.001) for _ in requests]

    def stream(self, request: Request) -> Iterator[str]:
        return iter(())
