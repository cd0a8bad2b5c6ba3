"""Parameter checks, means with gaps, and values for JSON."""

import math
from pathlib import Path

import numpy as np
import pytest

from rag.core.checks import check_choice, check_number, check_whole, is_whole
from rag.core.errors import ConfigError
from rag.core.files import replace_file, replace_text
from rag.core.numbers import jsonable, mean


@pytest.mark.parametrize("value", [True, 0, 9, 1.0, "3", None, math.nan])
def test_only_whole_numbers_within_the_limits_pass(value: object) -> None:
    assert is_whole(8, 1, 8)
    assert is_whole(10**30, 1)
    with pytest.raises(ConfigError, match="a whole number from 1 to 8") as caught:
        check_whole("chunker.size", value, 1, 8)
    assert (caught.value.where, caught.value.what) == ("chunker.size", f"is {value!r}")


@pytest.mark.parametrize("value", [False, -0.1, math.nan, math.inf, "1", None])
def test_only_finite_numbers_within_the_limits_pass(value: object) -> None:
    check_number("fusion.k", 0, 0)
    with pytest.raises(ConfigError, match="a number of at least 0; 60 is usual"):
        check_number("fusion.k", value, 0, hint="60 is usual")


def test_an_unknown_choice_gets_the_closest_known_one() -> None:
    check_choice("index.method", "lucene", ["lucene", "atire"])
    with pytest.raises(ConfigError, match=r"'lucen'\n.*did you mean 'lucene'"):
        check_choice("index.method", "lucen", ["lucene", "atire"])


def test_a_mean_leaves_out_what_is_not_known() -> None:
    assert mean(np.array([1.0, np.nan, 2.0])) == 1.5
    assert math.isnan(mean([]))
    assert math.isnan(mean([math.nan]))


def test_json_gets_null_for_what_is_not_finite() -> None:
    assert jsonable({"a": [np.float64("nan"), (math.inf,)], "b": np.int64(3), "c": np.array([1.5])}) == {
        "a": [None, [None]], "b": 3, "c": [1.5],
    }  # fmt: skip


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "notes.txt"
    replace_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "\ud800")
    path.with_name("folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_file(path.with_name("folder"), b"new")
    assert {entry.name for entry in path.parent.iterdir()} == {"notes.txt", "folder"}
    assert path.read_text() == "old"
