"""The values of records as people write them."""

from decimal import Decimal

from rag.core.records.sets import Field, Record, RecordTable

SIGNS = "£$€¥₹"
"""Units that are written before a number."""
LONGEST, ALLOWED = 40, 20
"""The most characters of a value, and the most allowed values of a field, in the description of a table."""


def written(record: Record, place: int, field: Field) -> str:
    """A value as its document writes it, else by its type; empty for None."""
    value = record.values[place]
    if record.shown and record.shown[place]:
        return record.shown[place]
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return value if isinstance(value, str) else amount(value, field.unit)


def described_table(table: RecordTable, values: int) -> str:
    """A table for a model: its name, title, size, fields with their types, and some values of each."""
    lines = [f'table "{table.name}": {table.title}'[:300] + f", {len(table.records)} records"]
    for place, field in enumerate(table.fields):
        held = dict.fromkeys(written(record, place, field)[:LONGEST] for record in table.records[: 10 * values])
        some = ", ".join([each for each in field.allowed or held if each][: max(values, len(field.allowed[:ALLOWED]))])
        kind = " ".join(filter(None, (field.type, field.unit, "inferred" * field.inferred)))
        lines.append(f"- {field.name} ({kind}): {some}")
    return "\n".join(lines)


def amount(number: float, unit: str = "") -> str:
    """A number with its unit: £1,022, 2,700 kg, 4.5 %."""
    plain = f"{Decimal(repr(number)):,f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    if unit and unit in SIGNS:
        return f"-{unit}{plain[1:]}" if number < 0 else f"{unit}{plain}"
    return f"{plain}{unit}" if unit in ("", "%") else f"{plain} {unit}"


def whole(number: float) -> int | float:
    """A number as int where it is whole."""
    return int(number) if float(number).is_integer() else number


def decimals(number: float) -> int:
    """The number of digits behind the point."""
    exponent = Decimal(repr(number)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
