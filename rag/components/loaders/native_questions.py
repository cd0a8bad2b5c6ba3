"""Golden questions in the native format."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import TypeVar

from rag.components.loaders.data_slice import DataSlice
from rag.core.errors import ConfigError, DataError, UserError, closest, together
from rag.core.progress import blocks
from rag.core.records.queries import ROUTES
from rag.core.types import ALL, INPUTS, SET, SPLITS, Document, Evidence, Example, Expected, Place, Query, Turn
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.quote_anchors import find_document, place_of
from rag.documents.folder.files import gathered
from rag.documents.folder.json_rows import Row, as_row, read_rows

QUESTION = frozenset({"id", "text", "kind", "tags", "split", "cluster", "dialogue", "turn", "history", "rewrite"})
QUESTION |= {"answers", "evidence", "unanswerable", "expects", "route", "input", "provenance", "judged"}
TURN = frozenset({"role", "text"})
GROUP = frozenset({"grade", "any"})
EXPECTS = frozenset({"value", "values", "table"})
ALTERNATIVE = frozenset({"doc", "start", "end", "quote", "page"})
T = TypeVar("T")


class NativeQuestions:
    """Golden questions from `questions`, files in the folder `path`, one JSON object a line.

    With several files, or with `others`, every question has a tag `set:` with the name of its file, or of its part of
    `others`, and none names a split. The ids and dialogues of all of them differ.

    `id` and `text` are required; `kind`, `tags`, `split` (tune or holdout), `cluster` (default: its dialogue, or its id),
    `history` (`role`, `text`), `answers` and `evidence` are optional. Evidence is a list of groups, all of them needed:
    `grade` (default 1) and `any`, the alternatives: `doc` alone for a whole document, with `quote` for a span of it. `start`
    and `end` decide between several occurrences of a quote, and are ignored if the document has changed. In a document of a
    parser a quote is found with tolerance, and `page`, from 1, decides between several places.

    `expects` is the value of the answer: `{"value": "4 days"}`, or `{"values": ["Tern 2", "Tern 2L"]}` for a set, or
    `{"table": [["Acme", "3"]]}` for rows. `route` is the right way to the
    answer: semantic, records or both. `input` is what the message is: question, pleasantry, conversation (a question about the
    conversation itself) or off_topic. `judged` lists places that were read and are not relevant. `provenance` says how a
    question was made (`rag.authoring.candidates`): it is in no digest; `searches` in it names the searches for its gold.

    Questions of one conversation name it in `dialogue` and their number in it in `turn`, from 1; `rewrite` is the question as
    a person would ask it without the earlier turns.
    """

    def __init__(
        self,
        path: str,
        questions: str | Sequence[str] = "questions.jsonl",
        others: Mapping[str, DataSlice] | None = None,
        complete: bool = False,
    ) -> None:
        """Raise ConfigError where no file is named. In a `complete` set all that is no evidence is judged as not relevant."""
        if not questions:
            raise ConfigError("dataset.questions", "names no file", "for example questions.jsonl")
        self.path = Path(path)
        self.questions = (questions,) if isinstance(questions, str) else tuple(questions)
        self.others = dict(others or {})
        self.complete = complete

    @property
    def several(self) -> bool:
        """Whether there is more than one set of questions."""
        return len(self.questions) > 1 or bool(self.others)

    @property
    def file(self) -> Path:
        """The file of questions, for what reads or writes it line by line; ConfigError where there are several sets."""
        if self.several:
            raise ConfigError("dataset", "has several files of questions", f"name one: dataset.questions={self.questions[0]}")
        return self.path / self.questions[0]

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield every valid question in file order; raise all problems together at the end, each with file, line and quote."""
        if not self.several:
            yield from self._file(self.questions[0], documents)
            return
        parts = {PurePath(name).stem: self._file(name, documents) for name in self.questions}
        for tag, examples in (*parts.items(), *((name, part.read(documents)) for name, part in self.others.items())):
            yield from (replace(example, tags=(*example.tags, f"{SET}{tag}"), split="") for example in examples)

    def _file(self, name: str, documents: Mapping[str, Document]) -> Iterator[Example]:
        path = self.path / name
        problems: list[UserError] = []
        places: dict[str, str] = {}
        turns: dict[tuple[str, int], str] = {}
        for (row,) in blocks([*read_rows(path, problems)], "questions read"):
            before = len(problems)
            example = _QuestionReader(row, documents, problems).example()
            query_id = example.query.query_id
            if query_id and places.setdefault(query_id, row.where) != row.where:
                what = f"the question {query_id!r} is also at {places[query_id]}"
                problems.append(DataError(row.where, what, "give it its own id"))
            if example.dialogue and (other := turns.setdefault((example.dialogue, example.turn), row.where)) != row.where:
                what = f"turn {example.turn} of the dialogue {example.dialogue!r} is also at {other}"
                problems.append(DataError(row.where, what, "give every turn its own number"))
            if len(problems) == before:
                yield replace(example, judged=example.judged | {ALL}) if self.complete else example
        if not places and not problems:
            remedy = 'write one a line: {"id": …, "text": …, "evidence": […]}'
            problems.append(DataError(str(path), "holds no question", remedy))
        if problems:
            raise together(sorted(problems, key=lambda problem: _line(problem, path)))


def _line(problem: UserError, path: Path) -> int:
    """The line of a problem, 0 for one of the whole file: rows that are no JSON are found before all others."""
    found = re.match(r":(\d+)", problem.where.removeprefix(str(path)))
    return int(found[1]) if found else 0


@dataclass(frozen=True)
class _QuestionReader:
    """Reads one line of a file of questions; errors are added to `problems`, and reading continues."""

    row: Row
    documents: Mapping[str, Document]
    problems: list[UserError]

    def example(self) -> Example:
        """The question; valid if no problem was added."""
        row, tried = self.row, self.tried
        tried(lambda: row.only(QUESTION), row)
        query_id = tried(lambda: row.name("id"), "")
        turns = (tried(partial(_turn, part), None) for part in tried(lambda: row.rows("history"), list[Row]()))
        history = tuple(turn for turn in turns if turn)
        dialogue, turn = tried(lambda: _dialogue_turn(row, history), ("", 0))
        made = given if isinstance(given := row.fields.get("provenance"), dict) else {}
        searches = made.get("searches")
        return Example(
            query=Query(query_id, tried(lambda: row.name("text"), ""), history, tried(lambda: row.text("rewrite", ""), "")),
            evidence=tuple(self.group(group) for group in tried(lambda: row.rows("evidence"), list[Row]())),
            answers=tried(lambda: row.texts("answers"), ()),
            kind=tried(lambda: row.text("kind", ""), ""),
            tags=tried(lambda: row.texts("tags"), ()),
            split=tried(lambda: _one_of(row, "split", row.text("split", ""), ("", *SPLITS)), ""),
            cluster=tried(lambda: row.text("cluster", ""), "") or dialogue or query_id,
            dialogue=dialogue,
            turn=turn,
            unanswerable=tried(lambda: _unanswerable(row), False),
            expects=tried(lambda: _expected(row), None),
            route=tried(lambda: _one_of(row, "route", row.text("route", ""), ("", *ROUTES)), ""),
            input=tried(lambda: _input(row), ""),
            judged=frozenset(self.places("judged", row)),
            searches=tuple(map(str, searches)) if isinstance(searches, list) else (),
            by_rules=str(made.get("method", "")).startswith("rule:"),
        )

    def group(self, row: Row) -> Evidence:
        """One group of evidence."""
        self.tried(lambda: row.only(GROUP), row)
        grade = self.tried(lambda: row.whole("grade", 1), 1)
        if grade < 1:
            self.problems.append(DataError(row.where, f"'grade' is {grade}", "write 1 or more; leave out what is not relevant"))
        if row.fields.get("any") in (None, []):
            remedy = "list at least one {doc, quote}, or leave the group out"
            self.problems.append(DataError(row.where, "'any' names no place", remedy))
        return Evidence(tuple(self.places("any", row)), grade)

    def places(self, key: str, row: Row) -> Iterator[Place]:
        """The places of a list; none where it cannot be read."""
        listed = self.tried(lambda: row.rows(key), list[Row]())
        yield from filter(None, (self.tried(partial(_alternative, place, self.documents), None) for place in listed))

    def tried(self, make: Callable[[], T], instead: T) -> T:
        """The result of `make`, or `instead` after a UserError, which is added to the problems."""
        result = instead
        with gathered(self.problems):
            result = make()
        return result


def _unanswerable(row: Row) -> bool:
    unanswerable, gold = row.truth("unanswerable", False), bool(row.rows("evidence"))
    if unanswerable and gold:
        raise DataError(row.where, "'unanswerable' is true, and there is evidence", "leave one of them out")
    if row.has("unanswerable") and not unanswerable and not gold and not row.texts("answers"):
        what = "'unanswerable' is false, and there are no answers and no evidence"
        raise DataError(row.where, what, "add answers or evidence, or write true")
    # A question without both is unanswerable anyway: digests of older sets stay the same.
    return unanswerable and bool(row.texts("answers"))


def _input(row: Row) -> str:
    kind = _one_of(row, "input", row.text("input", ""), ("", *INPUTS))
    if kind not in ("", "question") and row.rows("evidence"):
        raise DataError(row.where, f"'input' is {kind!r}, and there is evidence", "leave one of them out")
    return kind


def _expected(row: Row) -> Expected | None:
    if not row.has("expects"):
        return None
    given = as_row(row.fields["expects"], f"{row.where}: 'expects'")
    given.only(EXPECTS)
    if sum(map(given.has, EXPECTS)) != 1:
        raise DataError(row.where, "'expects' needs one of 'value', 'values' and 'table'", 'for example {"value": "4 days"}')
    if given.has("table"):
        return Expected(table=_rows(given))
    return Expected(given.name("value")) if given.has("value") else Expected(values=given.texts("values"))


def _rows(given: Row) -> tuple[tuple[str, ...], ...]:
    rows = given.fields["table"]
    known = isinstance(rows, list) and all(isinstance(row, list) and row for row in rows)
    if not known or not rows or not all(isinstance(cell, str) for row in rows for cell in row):
        raise DataError(given.where, "'table' is no list of rows of texts", 'for example [["Acme", "3"], ["Birch", "1"]]')
    return tuple(tuple(row) for row in rows)


def _dialogue_turn(row: Row, history: Sequence[Turn]) -> tuple[str, int]:
    """The dialogue of a question and its number in it; DataError unless the history has that many questions before it."""
    dialogue, turn = row.text("dialogue", ""), row.whole("turn", 0)
    if bool(dialogue) != bool(turn):
        raise DataError(row.where, "'dialogue' and 'turn' belong together", "give both, or neither")
    expected = 1 + sum(earlier.role == "user" for earlier in history)
    if dialogue and turn != expected:
        what = f"'turn' is {turn}, and by its history it is question {expected} of the dialogue"
        raise DataError(row.where, what, "the history holds all earlier questions and answers")
    return dialogue, turn


def _turn(row: Row) -> Turn:
    row.only(TURN)
    role = _one_of(row, "role", row.text("role"), ("user", "assistant"))
    return Turn("user" if role == "user" else "assistant", row.text("text"))


def _one_of(row: Row, key: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise DataError(row.where, f"{key!r} is {value!r}", closest(value, filter(None, known)))
    return value


def _alternative(row: Row, documents: Mapping[str, Document]) -> Place:
    row.only(ALTERNATIVE)
    offsets, page = row.has("start") or row.has("end"), row.whole("page", 0)
    if not row.has("quote"):
        if offsets or page:
            raise DataError(row.where, "'start', 'end' or 'page' is given without a 'quote'", "add the quote")
        return find_document(row.name("doc"), documents, row.where).doc_id
    if row.has("page") and page < 1:
        raise DataError(row.where, f"'page' is {page}", "pages count from 1")
    place = (row.whole("start"), row.whole("end")) if offsets else None
    return place_of(row.name("doc"), Quoted(row.text("quote"), place, page), row.where, documents)
