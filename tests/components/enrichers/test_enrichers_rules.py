"""Records by rule: fields from metadata, titles and patterns."""

import csv
from collections.abc import Mapping
from typing import Any

import pytest
from support.choices import CONF, build, choices

from rag.components.enrichers.rules import RulesEnricher
from rag.core.errors import ConfigError
from rag.core.records.sets import Cell, FieldFailure, Record
from rag.core.types import Document, Value
from rag.testing import check_enrich

HANDBOOK = CONF.parent / "datasets/handbook/documents"


def enriched(field: Mapping[str, Any], text: str, **metadata: Value) -> tuple[Cell, str, Record]:
    """The value of one field, the reason of a failure, and the record of a document."""
    found = RulesEnricher([{"name": "x", **field}]).enrich([Document("in/a-7.md", text, metadata)])
    (record,), why = found.tables[0].records, found.failures
    assert why in ((), (FieldFailure("in/a-7.md", "x", why[0].why if why else ""),))
    return record.values[0], why[0].why if why else "", record


@pytest.mark.parametrize("choice", choices("enrich", but=("documents_model", "model", "none", "tables")))
def test_laws(choice: str) -> None:
    check_enrich(build("enrich", choice))


TEXT = (
    "# Leave (2024 edition)\n\nOwner: People Office. From 1 April 2024.\n\n"
    "## Days of band B\n\nOwner: none. 28 days, then 30 days.\n"
)


@pytest.mark.parametrize(
    ("field", "value", "stated"),
    [
        ({"source": {"metadata": "team"}}, "Pay & leave", "# Leave (2024 edition)"),
        ({"source": [{"metadata": "gone"}, {"pattern": r"\((\d+) edition", "in": "title"}]}, "2024", "2024"),
        ({"source": {"pattern": r"Owner: (\w+)"}}, "People", "People"),
        ({"source": {"pattern": r"band (\w)", "in": "headings"}}, "B", "B"),
        ({"source": {"pattern": r"band (\w)", "in": "beginning"}}, None, "# Leave (2024 edition)"),
        ({"source": {"pattern": r"-(\d+)\.", "in": "name"}, "type": "number"}, 7, "# Leave (2024 edition)"),
        ({"source": {"pattern": r"From ([^.]+)"}, "type": "date"}, "2024-04-01", "1 April 2024"),
        ({"source": {"pattern": r"(\d+ days)"}, "type": "list"}, ("28 days", "30 days"), "28 days"),
        ({"source": {"metadata": "tags"}, "type": "list", "allowed": ["a", "B"]}, ("a", "B"), "# Leave (2024 edition)"),
        ({"source": {"pattern": "(?i)owner", "value": True}, "type": "boolean"}, True, "Owner"),
        ({"source": [{"pattern": "Nowhere", "value": "old"}, {"value": "new"}]}, "new", "# Leave (2024 edition)"),
        ({"source": {"metadata": "state"}, "allowed": ["Current"]}, "Current", "# Leave (2024 edition)"),
        ({"source": "roster"}, None, "# Leave (2024 edition)"),
    ],
)
def test_sources(field: Mapping[str, Any], value: Cell, stated: str) -> None:
    found, why, record = enriched(field, TEXT, team=" Pay &\nleave ", tags="A, b,a", state="cuRRent")
    assert (found, why) == (value, "")
    assert TEXT[record.start : record.end] == stated


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("date", "3/4/2025", "is no date"),
        ("date", "May 2024 to June 2025", "is no date"),
        ("number", "5 to 7", "is no number"),
        ("date", "31 June 2025", "is no date"),
        ("boolean", "perhaps", "is no boolean"),
        ("number", True, "is no number"),
        ("text", "x" * 2000, "is longer than 1000 characters"),
        ("list", ",".join(map(str, range(200))), "or 100 items"),
    ],
)
def test_a_value_of_another_type_is_none_and_listed(kind: str, value: Value, why: str) -> None:
    found, said, _ = enriched({"type": kind, "source": {"metadata": "m"}}, TEXT, m=value)
    assert found is None
    assert why in said


def test_a_value_that_is_not_allowed_is_none_and_a_later_source_may_fill() -> None:
    field = {"allowed": ["current", "draft"], "source": {"metadata": "m"}}
    assert enriched(field, TEXT, m="'; DROP TABLE documents; --")[:2] == (
        None,
        """is "'; DROP TABLE documents; --", and allowed is current, draft""",
    )
    assert enriched(field | {"source": [{"metadata": "m"}, {"value": "draft"}]}, TEXT, m="gone")[:2] == ("draft", "")


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ({"source": {"pattern": "(a)(b)"}}, "has 2 groups"),
        ({"source": {"pattern": "(a"}}, "not a valid pattern"),
        ({"source": {"pattern": "(a)", "in": "footer"}}, "there is no 'footer'"),
        ({"source": {"metadata": "m", "value": 1}}, "metadata: key"),
        ({"source": {"keywords": 0}}, "a whole number of at least 1"),
        ({"source": "model"}, "is 'model'"),
        ({"source": {"value": "soon"}, "type": "date"}, "is no date"),
        ({"type": "money"}, "there is no 'money'"),
        ({"allowed": "current"}, "is 'current'"),
        ({"allowed": ["1"], "type": "number"}, "for a field of the type text or list"),
        ({"sources": []}, "there is no 'sources'"),
        ({"name": 'x"; DROP'}, "a letter, then letters"),
    ],
)
def test_a_declaration_that_is_not_valid_is_refused(field: Mapping[str, Any], what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RulesEnricher([{"name": "x", **field}])
    assert what in str(caught.value)
    assert caught.value.where.startswith("enrich.fields.0")
    with pytest.raises(ConfigError, match="declares x, x"):
        RulesEnricher([{"name": "x"}, {"name": "X"}])


def test_keywords_are_frequent_here_and_rare_elsewhere() -> None:
    texts = ["Lemon groves. A lemon a day, lemons!", "Ships and a lemon", "Ships, ships, and the sea", "Trams, trams", "Clay"]
    fields = [{"name": "theme", "type": "list", "inferred": True, "source": [{"metadata": "tags"}, {"keywords": 2}, "roster"]}]
    documents = [Document(f"d{number}", text, {"tags": "a, b"} if number == 4 else {}) for number, text in enumerate(texts)]
    (table,) = RulesEnricher(fields).enrich(documents).tables
    assert [each.values[0] for each in table.records] == [("lemon",), ("lemon", "ships"), ("ships",), ("trams",), ("a", "b")]
    assert table.fields[0].inferred


def test_the_place_of_a_record_holds_its_values_if_they_are_near() -> None:
    fields = [{"name": name, "source": {"pattern": f"{name}: (.+)"}} for name in ("one", "two")]
    near = Document("near", "one: 1\ntwo: 2\n")
    far = Document("far", f"one: 1\n{'word ' * 400}\ntwo: 2\n")
    places = [(each.start, each.end) for each in RulesEnricher(fields).enrich([near, far]).tables[0].records]
    assert places == [(5, 13), (5, 6)]


def test_the_example_states_what_the_handbook_states() -> None:
    """F1 of the fields of conf/enrich/handbook.yaml against labels that were written by hand."""
    with (HANDBOOK.parent / "fields.csv").open(encoding="utf-8", newline="") as file:
        labels = {row.pop("document"): row for row in csv.DictReader(file)}
    documents = [Document(name, (HANDBOOK / name).read_text("utf-8")) for name in sorted(labels)]
    assert len(documents) == len([path for path in HANDBOOK.rglob("*") if path.suffix in (".md", ".txt")])
    (table,) = build("enrich", "handbook").enrich(documents).tables
    wrong = [
        (record.doc_id, name)
        for record in table.records
        for name, label in labels[record.doc_id].items()
        if (record.values[table.column(name)] or "") != label
    ]
    assert wrong == [
        ("field/flood-debrief-2022.md", "owner"),
        ("sites/fire-annex.txt", "owner"),
        ("sites/fire-northgate.txt", "owner"),
    ]
