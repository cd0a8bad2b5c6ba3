"""Records joined with a CSV file by id."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.choices import node

from rag.components.rosters.csv import NEAR, CsvRoster, near_ids, normalised
from rag.config.build import Components
from rag.core.errors import ConfigError, DataError
from rag.core.records.sets import Cell, Field, FieldFailure, Reconciled, Record, RecordSet, RecordTable
from rag.core.text.field_values import folded
from rag.testing import check_roster

FIELDS = (Field("code"), Field("owner"), Field("price", "number"), Field("due", "date"))
HEADER = "id,Owner,Price,Due\n"


def records(*rows: tuple[Cell, ...], fields: tuple[Field, ...] = FIELDS) -> RecordSet:
    made = tuple(Record(f"r{number}", f"d{number}", 0, 1, row) for number, row in enumerate(rows))
    return RecordSet((RecordTable("documents", fields, made),))


def roster(folder: Path, text: str, **changes: Any) -> CsvRoster:
    path = folder / "roster.csv"
    path.write_text(HEADER + text, "utf-8")
    fields = {"owner": "Owner", "price": "Price", "due": "Due"}
    return CsvRoster(**{"path": str(path), "key": "code", "column": "id", "fields": fields, **changes})


def joined(folder: Path, text: str, *rows: tuple[Cell, ...]) -> tuple[list[tuple[Cell, ...]], tuple[Reconciled, ...]]:
    found = roster(folder, text).join(records(*rows))
    return [record.values for record in found.tables[0].records], found.reconciled


def test_laws(tmp_path: Path) -> None:
    path = tmp_path / "assets.csv"
    path.write_text("Asset,Bench\nA-1,one\nA1,one\na 2,two\n", "utf-8")
    given = {"path": str(path), "table": "assets", "key": "id", "column": "Asset", "fields": {"bench": "Bench"}}
    check_roster(Components().role("roster", node("roster", "csv", **given)))


def test_the_roster_fills_and_decides(tmp_path: Path) -> None:
    values, said = joined(
        tmp_path,
        'HB-1,Ann,"1,200",1 April 2025\nHB-2,Bea,7,\n',
        ("hb 1", "ANN", 1200, "2025-04-01"),
        ("HB–2", "Cy", None, None),
        ("HB-9", "Dan", 3, None),
        (None, None, None, None),
    )
    assert values == [
        ("hb 1", "Ann", 1200, "2025-04-01"),
        ("HB–2", "Bea", 7, None),
        ("HB-9", None, None, None),
        (None, None, None, None),
    ]
    assert [each.status for each in said] == ["match", "mismatch", "missing", "missing"]
    assert said[1].detail == "owner is 'Cy' in the document and 'Bea' in the roster"
    assert said[2].near == ("HB-1", "HB-2")
    assert said[3].detail == "None is not in the roster"


def test_contradictory_rows_are_a_finding_and_no_choice(tmp_path: Path) -> None:
    values, said = joined(
        tmp_path, "A-1,Ann,1,\na1,Bea,1,\nA-2,Cy,2,\nA-2,Cy,2,\n", ("A-1", "Ann", 1, None), ("A-2", None, None, None)
    )
    assert values == [("A-1", None, None, None), ("A-2", "Cy", 2, None)]
    assert [each.status for each in said] == ["mismatch", "match"]
    assert re.fullmatch(r"rows of the roster differ: \('Ann', 1, None\) in .*:2 and \('Bea', 1, None\) in .*:3", said[0].detail)


def test_failures_of_roster_fields_end_with_the_join(tmp_path: Path) -> None:
    failures = (FieldFailure("d0", "owner", "is empty"), FieldFailure("d0", "code", "is empty"))
    found = roster(tmp_path, "A,Ann,,\n").join(RecordSet(records(("A", None, None, None)).tables, failures))
    assert found.failures == failures[1:]


@pytest.mark.parametrize(
    ("text", "changes", "what"),
    [
        ("A,Ann,many,\n", {}, "roster.csv:2: 'price' is 'many', which is no number"),
        ("A,Ann,1\n", {}, "roster.csv:2: has no id, or not"),
        (" - ,Ann,1,\n", {}, "roster.csv:2: has no id"),
        ("", {"column": "code"}, "roster.csv:1: has 0 columns 'code'"),
        ("", {"table": "assets"}, "there is no 'assets'"),
        ("", {"key": "codes"}, "there is no 'codes'"),
    ],
)
def test_what_does_not_fit_is_an_error(tmp_path: Path, text: str, changes: dict[str, str], what: str) -> None:
    with pytest.raises((DataError, ConfigError), match=what.replace("(", r"\(")):
        roster(tmp_path, text, **changes).join(records(("A", None, None, None)))


def test_the_file_is_in_the_identity(tmp_path: Path) -> None:
    before = roster(tmp_path, "A,Ann,1,\n").fingerprint()
    assert roster(tmp_path, "A,Ann,2,\n").fingerprint() != before
    with pytest.raises(ConfigError, match="there is no file"):
        roster(tmp_path, "", path="gone.csv").fingerprint()
    with pytest.raises(ConfigError, match="but not the key"):
        roster(tmp_path, "", fields={"code": "Owner"})


def edited(one: str, other: str) -> bool:
    """The oracle: one edit, neighbours swapped, or two digits swapped, by trying all of them on one id."""
    letters = set(other) | {"?"}
    tried = {one[:at] + one[at + 1 :] for at in range(len(one))}
    tried |= {one[:at] + letter + one[at + step :] for at in range(len(one) + 1) for letter in letters for step in (0, 1)}
    for first in range(len(one)):
        for last in range(first + 1, len(one)):
            if last == first + 1 or (one[first].isdecimal() and one[last].isdecimal()):
                tried.add(one[:first] + one[last] + one[first + 1 : last] + one[first] + one[last + 1 :])
    return other in tried - {one}


IDS = st.text("ab12", min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(IDS, IDS, st.sets(IDS, max_size=12))
@example("ab1", "ba1", set())
@example("1a2", "2a1", set())
def test_near_ids_are_those_of_the_oracle(wanted: str, other: str, ids: set[str]) -> None:
    expected = {one for one in {*ids, other} if edited(wanted, one)} if len(wanted) > 1 else set()
    found = near_ids(wanted, dict.fromkeys({*ids, other}), set("ab12"))
    assert len(found) == min(NEAR, len(expected))
    assert set(found) <= expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(IDS, st.sampled_from(["Ann", "ann ", "Bea", None])), max_size=8),
    st.dictionaries(IDS, st.sampled_from(["Ann", "Bea"])),
)
def test_a_roster_field_is_the_roster_s_or_none(
    tmp_path_factory: pytest.TempPathFactory, stated: Any, truth: dict[str, str]
) -> None:
    by_id = {normalised(code): owner for code, owner in truth.items()}
    values, said = joined(
        tmp_path_factory.mktemp("r"),
        "".join(f"{code},{owner},,\n" for code, owner in truth.items()),
        *((c, o, None, None) for c, o in stated),
    )
    for (code, owner), row, each in zip(stated, values, said, strict=True):
        assert row[1] == by_id.get(normalised(code))
        differs = row[1] is not None and owner is not None and folded(owner) != folded(str(row[1]))
        assert each.status == ("missing" if row[1] is None else "mismatch" if differs else "match")
