"""Rows of tables become typed records that show their cells as they are written."""

from typing import Any

import pytest
import yaml

from rag.components.enrichers.tables import TableRows
from rag.core.errors import ConfigError
from rag.core.files import shipped
from rag.core.records.sets import RecordSet
from rag.core.text.cells import number
from rag.core.types import Document


def tables(*texts: str, metadata: dict[str, Any] | None = None, **changes: Any) -> RecordSet:
    values = yaml.safe_load((shipped("conf") / "enrich" / "tables.yaml").read_text("utf-8"))["tables"]
    values.pop("_target_")
    documents = [Document(f"d{place}.md", text, (metadata or {}) if place == 0 else {}) for place, text in enumerate(texts)]
    return TableRows(**{**values, **changes}).enrich(documents)


def drawn(*rows: str) -> str:
    return "\n".join([rows[0], "|---" * (rows[0].count("|") - 1) + "|", *rows[1:]]) + "\n"


@pytest.mark.parametrize(
    ("cells", "kind", "unit", "values"),
    [
        (["£1,022", "£-4.50", "(£7)"], "number", "£", [1022.0, -4.5, -7.0]),
        (["2,700 kg", "980 kg", "none"], "number", "kg", [2700.0, 980.0, None]),
        (["1 year", "3 years"], "number", "year", [1.0, 3.0]),
        (["1.234,5", "2.000,25"], "number", "", [1234.5, 2000.25]),
        (["12 %", "7.5%"], "number", "%", [12.0, 7.5]),
        (["1st", "22nd"], "number", "", [1.0, 22.0]),
        (["12[a]", "7*"], "number", "", [12.0, 7.0]),
        (["$1,169", "1,111"], "number", "$", [1169.0, 1111.0]),
        (["£12 a day", "£21 a month"], "text", "", ["£12 a day", "£21 a month"]),
        (["0117", "0171"], "text", "", ["0117", "0171"]),
        (["4 m hull", "oars or 2 hp"], "text", "", ["4 m hull", "oars or 2 hp"]),
        (["2024-03-01", "14 November 2023", "Oct 2024"], "date", "", ["2024-03-01", "2023-11-14", "2024-10"]),
        (["Mar 3, 2024", "–"], "date", "", ["2024-03-03", None]),
        (["yes", "No", ""], "boolean", "", [True, False, None]),
        (["a; b", "c;d"], "list", "", [("a", "b"), ("c", "d")]),
        (["Otter 1", "—"], "text", "", ["Otter 1", None]),
    ],
)
def test_types(cells: list[str], kind: str, unit: str, values: list[Any]) -> None:
    (table,) = tables(drawn("| Name | Cell |", *(f"| n{place} | {cell} |" for place, cell in enumerate(cells)))).tables
    assert (table.fields[1].type, table.fields[1].unit) == (kind, unit)
    assert [record.values[1] for record in table.records] == values
    assert [record.shown[1] for record in table.records] == cells


@pytest.mark.parametrize("text", ["", "x", "1,2", "12,34", "1.2.3", "--5", "(5", "5)", "1e9", "1" * 40 + "x y z w"])
def test_what_is_no_number(text: str) -> None:
    assert number(text) is None


def test_headers_ragged_rows_and_places() -> None:
    text = "# Vans\n\n" + drawn("| Van | Mass | Mass | |", "| Otter | 1 | 2 |", "| Mink | 3 | 4 | x | y |")
    (table,) = tables(text).tables
    assert [field.name for field in table.fields] == ["Van", "Mass", "Mass (2)", "column 4", "column 5"]
    assert [record.values for record in table.records] == [("Otter", 1.0, 2.0, None, None), ("Mink", 3.0, 4.0, "x", "y")]
    assert [text[record.start : record.end] for record in table.records] == ["| Otter | 1 | 2 |", "| Mink | 3 | 4 | x | y |"]
    assert table.title == "Vans"


def test_totals_and_sections() -> None:
    rows = (
        *("| Assets | | |", "| Cash | 1 | 2 |", "| Total assets | 1 | 2 |", "| Total Recall | 1990 | film |"),
        "| **Total** | | 4 |",
    )
    (table,) = tables(drawn("| Item | 2024 | Kind |", *rows)).tables
    assert [(record.values[0], record.total) for record in table.records] == [
        ("Cash", False), ("Total assets", True), ("Total Recall", False), ("**Total**", True),
    ]  # fmt: skip
    assert [field.name for field in table.fields][-1] == "section"
    assert {record.values[-1] for record in table.records} == {"Assets"}


def test_equal_headers_are_one_table_with_sources_and_editions() -> None:
    texts = [f"# Prices {year}\n\n" + drawn("| Item | Price |", f"| pump | £{year} |") for year in (2024, 2025)]
    (table,) = tables(*texts, metadata={"status": "superseded"}).tables
    assert [field.name for field in table.fields] == ["Item", "Price", "source", "superseded"]
    assert [record.values[2:] for record in table.records] == [("Prices 2024", True), ("Prices 2025", False)]


def test_large_tables_are_left_out_and_listed() -> None:
    found = tables(drawn("| a | b |", *["| 1 | 2 |"] * 3), rows=2)
    assert not found.tables
    assert "3 rows" in found.failures[0].why
    with pytest.raises(ConfigError, match=r"enrich\.tables\.rows"):
        tables("", rows=0)


def test_rows_below_an_unnamed_header_name_columns_of_numbers() -> None:
    text = drawn(
        "| Years ended |  |  |", "| (in millions) | 2019 | 2018 |", "|  | US$ | US$ |", "| Sales | 5 | 4 |", "| Cost | 3 | 2 |"
    )
    (table,) = tables(text).tables
    assert [field.name for field in table.fields] == [
        "Years ended (in millions)",
        "Years ended 2019 US$",
        "Years ended 2018 US$",
    ]
    assert [record.values for record in table.records] == [("Sales", 5.0, 4.0), ("Cost", 3.0, 2.0)]
    (plain,) = tables(text.replace("Years ended |  |  |", "Years ended | A | B |")).tables
    assert len(plain.records) == 4
