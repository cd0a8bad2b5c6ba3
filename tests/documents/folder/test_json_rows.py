import pytest

from rag.core.errors import DataError
from rag.documents.folder.json_rows import Row, parse_row, shortened


def test_fields_are_read_by_type() -> None:
    row = parse_row('{"a": "x", "n": 3, "t": true, "l": ["x", "y"], "o": [{"k": "v"}], "none": null}', "f:1")
    assert (row.text("a"), row.whole("n"), row.truth("t", False)) == ("x", 3, True)
    assert (row.texts("l"), row.texts("absent"), row.text("none", "d")) == (("x", "y"), (), "d")
    assert row.rows("o") == [Row("f:1 o[0]", {"k": "v"})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"a": 1, "a": 2}', "holds the key 'a' twice"),
        ('{"a": "\\ud800"}', "not part of a pair"),
    ],
)
def test_anything_but_an_object_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        parse_row(text, "f.jsonl:7")
    assert caught.value.where == "f.jsonl:7"


@pytest.mark.parametrize(
    ("method", "values"),
    [("text", [3, ["x"]]), ("name", [" ", 7]), ("whole", ["3", True, 3.0]), ("texts", ["x", [1]]), ("rows", [{}, ["x"]])],
)
def test_wrong_types_are_refused(method: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(DataError, match="f:1"):
            getattr(Row("f:1", {"key": value}), method)("key")


def test_a_required_field_that_is_null_or_absent_is_asked_for() -> None:
    for fields in ({"b": "x"}, {"b": "x", "a": None}):
        with pytest.raises(DataError, match="there is no 'a'"):
            Row("f:1", fields).text("a")


def test_unknown_keys_name_the_closest() -> None:
    with pytest.raises(DataError, match=r"unknown key 'evidense'.*\n.*did you mean 'evidence'"):
        Row("f:1", {"evidense": []}).only(frozenset({"evidence", "id"}))


def test_long_texts_are_shown_short_on_one_line() -> None:
    assert shortened("a\n b") == "a b"
    assert len(shortened("word " * 1000)) == 60
