"""Cells of tables that hold lists or objects."""

import ast
import json
from typing import Any


def parsed_cell(value: Any) -> Any:
    """Parse a cell with a list or an object in the notation of JSON or Python; return any other value unchanged."""
    for read in (json.loads, ast.literal_eval) if isinstance(value, str) and value[:1] + value[-1:] in ("[]", "{}") else ():
        try:
            parsed = read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(parsed, dict) or all(isinstance(part, str | dict | list) for part in parsed):
            return parsed
    return value
