"""One small bundle for all tests that open one, and the working folder of tests with a sweep."""

from pathlib import Path

import pytest
from support.forged_bundles import sealed
from support.small_set import write_golden


@pytest.fixture
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder of a sweep, the fixture `place` of the test file."""
    monkeypatch.chdir(place)
    return place


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid bundle. Tests change copies, never this one."""
    folder = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return sealed(folder / "bundle", write_golden(folder / "golden"), "chunker=fixed", "chunker.size=60")
