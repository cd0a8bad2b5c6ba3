"""What every plug-in of ours has, and that its choices are its own."""

import re
from pathlib import Path

import pytest
from support.choices import FILES

import rag
from rag.config.catalog import plugin_modules

FOLDER = Path(rag.__file__).parent / "plugins"
ROOT = FOLDER.parents[1]
PLUGINS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__")


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_is_described_tested_and_registered(name: str) -> None:
    place = FOLDER / name
    assert re.fullmatch(
        r"# .+\n\n.+\n(?s:.*)\*\*When\*\*(?s:.*)\*\*Install\*\*(?s:.*)\n", (place / "README.md").read_text("utf-8")
    )
    assert f"| `{name}` |" in (ROOT / "docs" / "plugins.md").read_text("utf-8")
    assert list((ROOT / "tests" / "plugins" / name).glob("test_*.py"))
    registered = [module for kind in ("verbs", "formats") for module in plugin_modules(kind)]
    own = [path for path in FILES.values() if path.is_relative_to(place)]
    assert own or {module.rpartition(".")[0] for module in registered} & {f"rag.plugins.{name}"}
