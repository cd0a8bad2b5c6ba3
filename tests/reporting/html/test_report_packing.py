import base64
import gzip
import json
from dataclasses import replace
from typing import Any

from support import synthetic_reports

from rag.reporting.html.embedded_data import Packed, block, pack
from rag.reporting.html.view_model import Explorer


def unpacked(text: str) -> Any:
    return json.loads(text if text[0] in "[{" else gzip.decompress(base64.b64decode(text)))


def made_explorer(trials: int = 6, questions: int = 60) -> Explorer:
    found = synthetic_reports.material(trials, questions).explorer
    assert found is not None
    return found


def question(packed: Packed, row: int) -> Any:
    size = unpacked(packed.index)["shard"]
    return unpacked(packed.shards[row // size])[row % size]


def test_a_block_holds_nothing_that_ends_a_script() -> None:
    content = {"text": "</script><!--<script>&\u2028\u2029", "more": ["é", "𝔘", None]}
    text = block(content)
    assert not set(text) & set("<>&\u2028\u2029")
    assert "\\u003c/script\\u003e" in text
    assert json.loads(text) == content


def test_every_passage_can_be_read_back() -> None:
    given = made_explorer()
    packed = pack(given)
    index, texts = unpacked(packed.index), unpacked(packed.texts)
    assert index["ids"] == [question.query.query_id for question in given.questions]
    for row in (0, 1, 30, 59):
        shown = question(packed, row)
        for trial, place in zip(given.trials, index["ranking"], strict=True):
            numbers = shown["ranked"][place]
            passages = [shown["passages"][3 * number : 3 * number + 3] for number in numbers]
            assert [(texts["names"][doc], start, end) for doc, start, end in passages] == given.rankings[
                trial.ranking
            ].passages[row]
        for doc, start, end in zip(*[iter(shown["passages"])] * 3, strict=True):
            pieces = texts["pieces"][doc]
            read = [
                text[start - offset : end - offset]
                for offset, text in zip(pieces[::2], pieces[1::2], strict=True)
                if offset <= start and end <= offset + len(text)
            ]
            assert read == [given.documents[texts["names"][doc]][start:end]]


def test_the_chunks_at_the_gold_can_be_read_back_and_go_with_their_trials() -> None:
    given = made_explorer(8)
    packed = pack(given)
    index, texts = unpacked(packed.index), unpacked(packed.texts)
    for trial, place in zip(given.trials, index["ranking"], strict=True):
        for row in (0, 2, 4):
            wanted = [
                [one.said, one.document, *([rank, each.start, each.end, each.flags, *each.extra] for rank, each in one.chunks)]
                for one in given.rankings[trial.ranking].gold[row]
            ]
            near = [[said, texts["names"][doc], *chunks] for said, doc, *chunks in question(packed, row)["near"][place]]
            assert near == json.loads(json.dumps(wanted))
    assert len(question(pack(given, budget=packed.size - 1), 2)["near"]) == len({trial.ranking for trial in given.trials[:4]})


def test_a_small_budget_keeps_the_passages_of_the_first_trials() -> None:
    given = made_explorer(8)
    whole = pack(given)
    assert (whole.kept, whole.trials) == (8, 8)
    part = pack(given, budget=whole.size - 1)
    index = unpacked(part.index)
    assert part.kept == 4
    assert part.size < whole.size
    assert [place >= 0 for place in index["ranking"]] == [True] * 4 + [False] * 4
    assert all(len(digits) == 60 for digits in index["outcomes"])
    assert pack(given, budget=1).kept == 0
    many = pack(made_explorer(120, 40), 60_000)
    assert 0 < many.kept < 120
    assert many.size <= 60_000


def test_a_hit_within_a_passage_above_has_no_number() -> None:
    given = made_explorer(1, 2)
    (name,) = given.rankings
    first, *rest = given.rankings[name].passages
    hidden = replace(given.rankings[name], passages=[[first[0], None, *first[2:]], *rest])
    packed = pack(replace(given, rankings={name: hidden}))
    (numbers,) = question(packed, 0)["ranked"]
    assert numbers[1] == -1
    assert -1 not in [numbers[0], *numbers[2:]]
