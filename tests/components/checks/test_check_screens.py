"""Checks before a model is asked: the retrieval floor, pleasantries, and questions off the topic."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.choices import node

from rag.components.checks.message_kinds import MessageKinds
from rag.components.checks.off_topic import OffTopicCheck
from rag.components.checks.retrieval_floor import RetrievalFloorCheck
from rag.components.embedders.hashing import HashingEmbedder
from rag.config.build import Components
from rag.core.headings import Section
from rag.core.roles import Scaled
from rag.core.types import Chunk, Hit, Query, Ranking, Span, Turn, Vectors
from rag.execution.store.cached_vectors import StoredEmbedder
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import config_of


class Angles:
    """Texts are angles in degrees, of vectors that have other lengths than 1."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split("\n")[0]) for text in texts])
        return np.stack([3 * np.cos(angles), 3 * np.sin(angles)], axis=1).astype(np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts) / 2


def at_angles(*angles: int) -> Ranking:
    return tuple(Hit(Chunk(Span("d", 0, 1), str(angle)), 1.0) for angle in angles)


def test_the_nearest_passage_counts() -> None:
    check = RetrievalFloorCheck(Angles(), 0.5)
    queries = [Query("a", "0"), Query("b", "0"), Query("c", "0")]
    assert check.similarity(queries, [at_angles(90, 60), at_angles(180), ()]) == pytest.approx([0.5, -1, -1])
    floors = [[one.what for one in row] for row in check.screen(queries, [at_angles(90, 59), at_angles(70), ()])]
    assert floors == [[], ["the nearest passage has a cosine of 0.342, below 0.5"], ["nothing was found"]]


def test_a_follow_up_is_tried_with_what_was_said_before() -> None:
    # The text of both turns begins with the earlier one, which is the angle that counts here.
    history = (Turn("user", "80"), Turn("assistant", "1"), Turn("user", "90"), Turn("assistant", "2"))
    check = RetrievalFloorCheck(Angles(), 0.9)
    assert check.similarity([Query("q", "0", history)], [at_angles(90)]) == pytest.approx([1.0])


@pytest.mark.parametrize(("on_failure", "action"), [("refuse", "abstain"), ("flag", "flag")])
def test_what_follows(on_failure: str, action: str) -> None:
    ((finding,),) = RetrievalFloorCheck(Angles(), 0.5, on_failure).screen([Query("q", "0")], [at_angles(80)])
    assert (finding.source, finding.action) == ("retrieval_floor", action)


FERRY = "The ferry to Holm leaves at seven."


class Fixed:
    """A cosine of 0.6 between any question and any passage; `asked` counts the texts."""

    def __init__(self, unrelated: float = 0.7) -> None:
        self.least, self.asked = unrelated, 0

    def unrelated(self) -> float:
        return self.least

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked += len(texts)
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.tile(np.array([0.6, 0.8], np.float32), (len(texts), 1))


def ranking(text: str = FERRY, path: str = "") -> Ranking:
    return (Hit(Chunk(Span("d", 0, len(text)), text, (Section(0, 0, path),)), 1.0),)


def shipped(embedder: Fixed | None = None) -> OffTopicCheck:
    given = {name: value for name, value in node("check", "off_topic").items() if name not in ("_target_", "embedder")}
    kinds = {name: value for name, value in given.pop("kinds").items() if name != "_target_"}
    return OffTopicCheck(embedder or Fixed(), kinds=MessageKinds(**kinds), **given)


def reasons(check: OffTopicCheck, text: str, contexts: Ranking = (), *said: str) -> list[str]:
    history = tuple(Turn("user", turn) for turn in said)
    ((*findings,),) = check.screen([Query("q", text, history)], [contexts])
    assert all((one.source, one.action) == ("off_topic", "abstain") for one in findings)
    return [one.what for one in findings]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "this is a pleasantry") for text in ("Thanks!", "Hi", "ok", "Great, thanks a lot.", "👍", "Who are you?")),
        ("What have we discussed?", "this is about the conversation"),
        ("???", "this asks nothing"),
    ],
)
def test_what_asks_nothing_of_the_documents_needs_no_look_at_the_passages(text: str, reason: str) -> None:
    check = shipped()
    assert reasons(check, text, ranking(f"{text} {FERRY}")) == [reason]
    assert isinstance(check.embedder, Fixed)
    assert check.embedder.asked == 0


def test_after_other_turns_a_question_may_say_nothing_by_itself() -> None:
    assert reasons(shipped(), "And what about it?", ranking()) == ["this asks nothing"]
    assert reasons(shipped(), "And what about it?", ranking(), "When does the ferry leave?") == []
    assert (
        reasons(shipped(), "Tell me more about that.", ranking(), "When does the ferry leave?", "And when must it land?") == []
    )


def test_both_words_and_sense_must_be_missing() -> None:
    # sourdough, bake, ferry: 1 of 3 stems; the floor is the embedder's own.
    question = "How do I bake sourdough on a ferry?"
    assert reasons(shipped(Fixed(0.7)), question, ranking()) == [
        "33% of its words are in the passages, and the nearest has a cosine of 0.600, below 0.7"
    ]
    assert reasons(shipped(Fixed(0.5)), question, ranking()) == []
    assert reasons(shipped(Fixed(0.7)), "Which ferries leave for Holm?", ranking()) == []
    assert reasons(shipped(Fixed(0.7)), question, ranking("Bread", "Sourdough > Baking on the ferry")) == []
    assert reasons(shipped(Fixed(0.7)), "With sourdough?", ranking(), "When does the ferry leave for Holm?") == []
    assert reasons(shipped(Fixed(0.7)), question) == []  # Nothing was found: closed book, or a selector.


def test_only_what_may_depend_on_the_turn_before_is_read_with_it() -> None:
    # Alone 1 of 3 stems, together 5 of 7.
    passage = ranking("The ferry to Holm leaves at ten on a weekday in winter.")
    before = "Does the ferry leave for Holm on a winter weekday?"
    assert reasons(shipped(), "Who will bake bread on the ferry?", passage, before)
    assert reasons(shipped(), "Will they bake bread on the ferry?", passage, before) == []
    assert reasons(shipped(), "Will they bake bread on the ferry?", passage)


def test_the_share_of_words_is_a_limit_that_counts_as_missing() -> None:
    question, near = "bake ferry", Fixed(0.7)
    assert reasons(OffTopicCheck(near, words=0.5), question, ranking())
    assert not reasons(OffTopicCheck(near, words=0.49), question, ranking())
    assert reasons(OffTopicCheck(Fixed(0.7), floor=0.5), "bake sourdough", ranking()) == []
    assert reasons(OffTopicCheck(Fixed(0.1), floor=0.65), "bake sourdough", ranking())


def test_an_embedder_without_a_scale_leaves_the_words_alone_to_decide(tmp_path: Path) -> None:
    hashing = OffTopicCheck(HashingEmbedder())
    assert reasons(hashing, "bake sourdough", ranking()) == ["no word of the question is in a passage"]
    assert reasons(hashing, "bake a ferry", ranking()) == []
    # Whether vectors are kept changes nothing: what is swept is served.
    store = Store(str(tmp_path))
    assert isinstance(StoredEmbedder(Fixed(), store, "a"), Scaled)
    assert not isinstance(StoredEmbedder(HashingEmbedder(), store, "b"), Scaled)


@pytest.mark.parametrize(
    ("choice", "floor"),
    [
        *(("preset=assay", 0.2), ("preset=grounded_citations", 0.26), ("embedder=static", 0.4)),
        *(("preset=ragstream", 0.26), ("preset=study_assistant", 0.26), ("preset=two_index_engine", 0.26)),
        ("embedder.dimensions=64 embedder=static", None),
    ],
)
def test_every_preset_has_a_floor(choice: str, floor: float | None) -> None:
    config = config_of(choice.split())
    check = Components().build(config["check"]["off_topic"], "check.off_topic")
    assert (check.embedder.unrelated() if check.floor is None else check.floor) == floor


def test_no_passage_is_embedded_behind_one_that_reaches_the_floor() -> None:
    near, far = Fixed(unrelated=0.5), Fixed(unrelated=0.7)
    contexts = tuple(hit for number in range(4) for hit in ranking(f"{FERRY} {number}"))
    assert reasons(shipped(near), "Who paints the lighthouse?", contexts) == []
    assert near.asked == 1
    assert reasons(shipped(far), "Who paints the lighthouse?", contexts)
    assert far.asked == 4
