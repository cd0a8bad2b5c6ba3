"""A plug-in, a config or a bundle of before the packages gets an error that names the new path."""

import importlib.util
import sys
from pathlib import Path

import pytest

from rag.config.build import Components
from rag.config.moved import RENAMED, new_name
from rag.core.errors import ConfigError


def test_every_new_name_is_a_module() -> None:
    for old, new in RENAMED.items():
        module = new.rpartition(".")[0] if new.rpartition(".")[2][0].isupper() else new
        assert importlib.util.find_spec(f"rag.{module}"), new
        first = old if old.startswith("components.") else old.partition(".")[0]
        assert old == "components.loaders.folder.NativeQuestions" or importlib.util.find_spec(f"rag.{first}") is None, old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rag.chunkers.line.Line", "rag.components.chunkers.line.Line"),
        ("rag.loaders.rows", "rag.documents.json_rows"),
        ("rag.loaders.rowset", "rag.components.loaders.rowset"),
        ("rag.records.Document", "rag.core.records.Document"),
        ("rag.recordings", ""),
        ("rag.components.chunkers.line", ""),
        ("rag", ""),
        ("os.path", ""),
        (5, ""),
    ],
)
def test_a_name_of_before_has_a_new_one(old: object, new: str) -> None:
    assert new_name(old) == new


def test_a_config_with_an_old_path_is_given_the_new_one() -> None:
    with pytest.raises(ConfigError, match=r"rag\.components\.chunkers\.fixed\.FixedChunker") as raised:
        Components().build({"_target_": "rag.chunkers.fixed.FixedChunker", "size": 5}, "chunker")
    assert raised.value.where == "chunker._target_"
    assert raised.value.remedy == "name it rag.components.chunkers.fixed.FixedChunker"


def test_a_plugin_that_imports_an_old_module_is_given_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elder.py").write_text("from rag.records import Document\n\n\nclass Elder:\n    pass\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "elder", raising=False)
    with pytest.raises(ConfigError, match=r"elder imports 'rag\.records', which is now 'rag\.core\.records'"):
        Components(("elder",)).build({"_target_": "elder.Elder"}, "chunker")
