"""A PostgreSQL server for all tests of a process that need one."""

from collections.abc import Iterator

import pytest
from databases import Postgres, postgres


@pytest.fixture(scope="session")
def database_server() -> Iterator[Postgres]:
    """Started when the first test asks for it; every test makes databases of its own in it."""
    with postgres() as found:
        yield found
