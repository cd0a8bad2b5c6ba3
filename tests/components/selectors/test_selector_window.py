"""Hits with the sentences around them."""

from support.passages_read import corpus_of, read

from rag.components.selectors.window import WindowSelector

TEXT = "# A\nAnt eats. Bee flies. Cat naps.\n\nDog digs. Elk runs.\n# B\nFox hides. Gnu waits.\n"
SENTENCES = [0, 4, 14, 25, 36, 46, 56, 60, 71, 83]
"""Chunks: the headings alone, and one per sentence."""


def shown(edges: list[int], hit: int, sentences: int = 1) -> str:
    ((_, text),) = read(WindowSelector(sentences), corpus_of(TEXT, edges), hit)
    return text


def test_sentences_of_the_section_are_read_with_a_hit() -> None:
    assert shown(SENTENCES, 3) == "Bee flies. Cat naps.\n\nDog digs. "
    assert shown(SENTENCES, 2, 2) == "Ant eats. Bee flies. Cat naps.\n\nDog digs. "
    assert shown(SENTENCES, 5, 9) == TEXT[4:56], "a heading is no sentence"
    assert shown(SENTENCES, 5) == "Dog digs. Elk runs.\n"
    assert shown(SENTENCES, 7, 9) == TEXT[56:]


def test_abbreviations_are_those_of_the_language() -> None:
    text = "Er kommt. Siehe ggf. Regel vier. Sie geht."
    corpus = corpus_of(text, [0, 10, 21, 33, len(text)])
    assert read(WindowSelector(1, "german"), corpus, 3) == [(1, text[10:])]
    assert read(WindowSelector(1), corpus, 3) == [(1, text[21:])]


def test_without_a_sentence_only_the_hit_is_read() -> None:
    corpus = corpus_of("# A\n# B\n", [0, 4, 8])
    assert read(WindowSelector(), corpus, 0) == [(1, "# A\n")]
