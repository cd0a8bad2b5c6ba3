import pytest

from rag.components.fusion.single import SingleFusion
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings

ONE = Rankings.pack([[(4, 2.0), (1, 1.5)], [(2, 0.5)]])
TWO = Rankings.pack([[(9, 9.0)], [(8, 8.0)]])


def test_one_of_several_is_named() -> None:
    fused = SingleFusion("dense").fuse({"bm25s": ONE, "dense": TWO}, 10)
    assert [fused.row(0), fused.row(1)] == [[(9, 9.0)], [(8, 8.0)]]


@pytest.mark.parametrize(
    ("index", "names", "what", "remedy"),
    [
        (None, ["bm25s", "dense"], "there are 2 indexes: bm25s, dense", "name one"),
        (None, [], "there are 0 indexes: none", "name one"),
        ("dence", ["bm25s", "dense"], "there is no index 'dence'", "did you mean 'dense'?"),
    ],
)
def test_it_must_be_clear_which_index_answers(index: str | None, names: list[str], what: str, remedy: str) -> None:
    fusion = SingleFusion(index)
    with pytest.raises(ConfigError) as caught:
        fusion.check(names)
    assert (caught.value.where, caught.value.what) == ("fusion.index", what)
    assert remedy in caught.value.remedy
    with pytest.raises(ConfigError):
        fusion.fuse(dict.fromkeys(names, ONE), 10)
