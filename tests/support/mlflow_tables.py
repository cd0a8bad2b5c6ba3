"""MLflow creates the tables of a new database by some sixty migrations; here once for each test process."""

import sqlite3
import sys
from contextlib import closing
from typing import Any

import pytest


def copy_instead_of_migrating(patch: pytest.MonkeyPatch) -> None:
    """Give every empty SQLite file of MLflow a copy of the tables of the first one."""
    import mlflow.store.db.utils as database

    create, tables = database._initialize_tables, sqlite3.connect(":memory:", check_same_thread=False)

    def initialize(engine: Any) -> None:
        if engine.dialect.name != "sqlite" or not database._is_empty_database(engine):
            return create(engine)
        filled = tables.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not filled:
            create(engine)
        with closing(engine.raw_connection()) as connection:
            target = connection.driver_connection
            tables.backup(target) if filled else target.backup(tables)
        return None

    patch.setattr(database, "_initialize_tables", initialize)


def is_loaded() -> bool:
    """Whether a test file has imported MLflow, which takes a second."""
    return "mlflow" in sys.modules
