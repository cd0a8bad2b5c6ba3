"""Bundles that open: they answer as what was sealed, and send questions only to trusted servers."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import forged_bundles
from support.forged_bundles import refusal
from support.small_set import write_golden

from rag.bundle.archive import pack
from rag.bundle.manifest import digest_of
from rag.bundle.open_bundle import open_bundle
from rag.core.types import Query

QUESTIONS = [Query(str(number), text) for number, text in enumerate(("When does the ferry leave?", "bus", "zebra", ""))]


def test_a_folder_of_bundles_is_refused_with_their_names(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "all" / "one")
    error = refusal(tmp_path / "all")
    assert error.what == "is not a bundle, but holds some"
    assert error.remedy == f"name one of them: {tmp_path / 'all' / 'one'}"


def test_an_archive_answers_as_its_folder(base: Path, tmp_path: Path) -> None:
    pack(base, tmp_path / "bundle.tar.zst")
    one, other = open_bundle(base), open_bundle(tmp_path / "bundle.tar.zst")
    assert one.digest == other.digest
    assert one.files == other.files
    for left, right in zip(one.pipeline.traces(QUESTIONS), other.pipeline.traces(QUESTIONS), strict=True):
        assert np.array_equal(left.selected.positions, right.selected.positions)


def test_an_opened_bundle_holds_its_verified_files(base: Path) -> None:
    opened = open_bundle(base)
    assert opened.read("config.json") == (base / "config.json").read_bytes()
    assert opened.read("golden.jsonl") == b""
    assert json.loads(opened.read("manifest.json"))["corpus"] == opened.manifest.corpus
    assert opened.name == f"bundle-{opened.digest[:12]}"


def test_a_link_is_followed_and_the_folder_is_not_read_later(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "gone")
    (tmp_path / "current").symlink_to(tmp_path / "gone")
    opened = open_bundle(tmp_path / "current")
    assert opened.digest == digest_of(base)
    shutil.rmtree(tmp_path / "gone")
    assert opened.pipeline.traces(QUESTIONS[:1])[0].selected.row(0)
    assert opened.read("config.json")


@pytest.mark.parametrize(
    ("path", "words"), [("nowhere", "is not there"), ("empty", "no manifest.json"), ("file.tar.zst", "not a bundle")]
)
def test_other_paths_are_refused(tmp_path: Path, path: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.tar.zst").write_bytes(b"")
    assert words in refusal(tmp_path / path).what


class TestServers:
    """Which servers a generator of a bundle may send questions and keys to."""

    def bundle(self, base: Path, target: Path, **values: object) -> Path:
        given = {"target": "rag.components.generators.openai.OpenAiGenerator", "model": "m", **values}
        return forged_bundles.forged(base, target, forged_bundles.node("generator", **given))

    @pytest.mark.parametrize(
        ("url", "variable"),
        [
            (None, "OPENAI_API_KEY"),
            ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
            ("http://127.0.0.1:8081/v1", "OPENAI_API_KEY"),
            ("http://[::1]:8081/v1", None),
        ],
    )
    def test_presets_and_this_machine_are_trusted(
        self, base: Path, tmp_path: Path, url: str | None, variable: str | None
    ) -> None:
        made = self.bundle(base, tmp_path / "b", base_url=url, api_key_env=variable)
        assert open_bundle(made).pipeline.generator

    def test_a_host_is_trusted_when_it_is_named(self, base: Path, tmp_path: Path) -> None:
        made = self.bundle(base, tmp_path / "b", base_url="https://llm.example:8443/v1", api_key_env="OPENAI_API_KEY")
        error = refusal(made)
        assert "questions, passages and OPENAI_API_KEY to llm.example:8443" in error.what
        assert "--trust-host llm.example" in error.remedy
        for hosts in (("llm.example",), ("llm.example:8443",), ("other", "llm.example=OPENAI_API_KEY")):
            assert open_bundle(made, hosts=hosts).digest
        for hosts in (("llm",), ("example",), ("llm.example:443",), ("llm.example=GROQ_API_KEY",)):
            assert refusal(made, hosts=hosts)


PLUGIN = """\
from pathlib import Path

class Fewer:
    def __init__(self, count: int = 1, cache: str = "x") -> None:
        self.count = count

    def select(self, rankings, corpus):
        return rankings.first(self.count)

class Writer:
    def __init__(self, count: int = 1) -> None:
        Path("canary").write_text("here")
"""


def selecting(target: str, **values: Any) -> forged_bundles.Change:
    """Make a class of a plug-in the only selector."""
    return forged_bundles.config(lambda known: known.update(selector={"fewer": {"_target_": target, **values}}))


class TestPlugins:
    """Classes of a trusted package are components, and must fit their role before they are built."""

    @pytest.fixture(autouse=True)
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "site" / "fewer").mkdir(parents=True)
        (tmp_path / "site" / "fewer" / "__init__.py").write_text(PLUGIN, "utf-8")
        monkeypatch.syspath_prepend(tmp_path / "site")
        monkeypatch.chdir(tmp_path)

    def test_a_trusted_package_may_be_named(self, base: Path, tmp_path: Path) -> None:
        made = forged_bundles.forged(base, tmp_path / "b", selecting(target="fewer.Fewer", count=2))
        assert "outside of rag" in refusal(made).what
        opened = open_bundle(made, packages=("fewer",))
        assert len(opened.pipeline.traces(QUESTIONS[:1])[0].selected.row(0)) == 2

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"target": "fewer.Writer"}, "lacks the methods of selector"),
            ({"target": "fewer.Path"}, "not a class of a trusted package"),
            ({"target": "fewer.Fewer", "count": "many"}, "a whole number is needed"),
            ({"target": "fewer.Fewer", "cache": "/etc"}, "set by the machine"),
            ({"target": "fewer.Fewer", "count": {"_target_": "fewer.Writer"}}, "lacks the methods of a component"),
        ],
    )
    def test_nothing_else_of_the_package_is_built(self, base: Path, tmp_path: Path, values: dict[str, Any], words: str) -> None:
        made = forged_bundles.forged(base, tmp_path / "b", selecting(**values))
        assert words in str(refusal(made, packages=("fewer",)))
        assert not (tmp_path / "canary").exists()


def test_a_conf_folder_next_to_a_bundle_does_not_add_trust(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"model": "m", "base_url": "https://stranger.example/v1", "api_key_env": "OPENAI_API_KEY"}
    target = "rag.components.generators.openai.OpenAiGenerator"
    made = forged_bundles.forged(base, tmp_path / "b", forged_bundles.node("generator", target=target, **given))
    (tmp_path / "conf" / "generator").mkdir(parents=True)
    preset = "".join(f"{name}: {value}\n" for name, value in {"_target_": target, **given}.items())
    (tmp_path / "conf" / "generator" / "ours.yaml").write_text(preset, "utf-8")
    assert "stranger.example" in refusal(made).what


def test_documents_may_be_named_in_any_language(here: Path) -> None:
    golden = write_golden(here / "golden")
    names = ["a\u00a0b.md", "資料\u3000一.md", "👩\u200d🔬.md", "Überblick (neu).md"]
    text = (golden / "questions.jsonl").read_text("utf-8")
    for path, name in zip(sorted((golden / "documents").iterdir()), names, strict=True):
        path.rename(path.with_name(name))
        text = text.replace(path.name, name)
    (golden / "questions.jsonl").write_text(text, "utf-8")
    opened = open_bundle(forged_bundles.sealed(here / "b", golden))
    assert {document.doc_id for document in opened.pipeline.corpus.documents} == set(names)
