"""A golden set in a made-up format, with parsers of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.town_pages import installed


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with that golden set."""
    with installed(tmp_path_factory.mktemp("town")) as folder:
        yield folder
