"""Bundles and databases that many tests of the server share."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from support.databases import KINDS, Postgres, file_url, postgres
from support.small_server import CONVERSING, ManualClock, small_bundle

from rag.serve.conversations import Conversations


@pytest.fixture(scope="session")
def database_server() -> Iterator[Postgres]:
    """A PostgreSQL server; every test makes its own databases in it."""
    with postgres() as found:
        yield found


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database, once of each kind."""
    return file_url(tmp_path) if request.param == "sqlite" else request.getfixturevalue("database_server").schema()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that a test sets."""
    return ManualClock(1_000_000.0)


@pytest.fixture
def talks(url: str, clock: ManualClock) -> Iterator[Conversations]:
    """Sessions in a new database of each kind, by that clock."""
    found = Conversations(url, 1800, clock)
    yield found
    found.database.close()


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose answers are quotations; tests must not change it."""
    return small_bundle(tmp_path_factory.mktemp("bundle"), "generator=extractive")


@pytest.fixture(scope="session")
def other_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another bundle of the same golden set; tests must not change it."""
    return small_bundle(tmp_path_factory.mktemp("other"), "generator=extractive", "chunker=whole")


@pytest.fixture(scope="session")
def conversing_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that reads earlier turns; tests must not change it."""
    return small_bundle(tmp_path_factory.mktemp("conversing"), *CONVERSING)


@pytest.fixture
def own_bundle(bundle: Path, tmp_path: Path) -> Path:
    """A copy of the bundle that a test may change."""
    return Path(copytree(bundle, tmp_path / "served"))
