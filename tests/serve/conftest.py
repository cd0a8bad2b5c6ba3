"""A PostgreSQL server for all tests of a process that need one, and bundles that change under a server."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from support.databases import Postgres, postgres
from support.small_server import small_bundle


@pytest.fixture(scope="session")
def database_server() -> Iterator[Postgres]:
    """Started when the first test asks for it; every test makes databases of its own in it."""
    with postgres() as found:
        yield found


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two bundles of one golden set."""
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    return [small_bundle(one, "generator=extractive"), small_bundle(other, "generator=extractive", "chunker=whole")]


@pytest.fixture
def bundle(bundles: list[Path], tmp_path: Path) -> Path:
    """A copy of the first bundle, at a path of its own."""
    return Path(copytree(bundles[0], tmp_path / "served"))
