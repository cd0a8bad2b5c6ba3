"""Rows as a DataFrame, as HTML, or one by one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

SHOWN = 50
"""Rows that a notebook shows of a table."""


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns; a value that is not known is None."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> "Table":
        """The table of some mappings; its columns are all their keys, in the order of first appearance."""
        columns = tuple(dict.fromkeys(key for record in records for key in record))
        return cls(columns, tuple(tuple(record.get(column) for column in columns) for record in records))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Every row as a mapping from column to value."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a DataFrame; what is not known is NaN in columns of numbers."""
        import pandas

        return pandas.DataFrame.from_records(list(self.rows), columns=list(self.columns))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:SHOWN])
        more = f"<p>{len(self) - SHOWN:,} more rows: use to_pandas()</p>" if len(self) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4g}</td>'
    return f"<td>{'' if value is None else escape(str(value))}</td>"
