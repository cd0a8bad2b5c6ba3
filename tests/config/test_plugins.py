"""A package of somebody else joins by being installed: its classes are trusted, its choices are found, its code is keyed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHUNKER = '''\
"""Chunks for people who shout."""

from rag.core.errors import ConfigError
from rag.core.types import Document, Span

from .limits import LEAST


class ShoutChunker:
    """A chunk ends behind every exclamation mark, and no chunk is shorter than `least` characters."""

    def __init__(self, least: int = LEAST) -> None:
        if least < 1:
            raise ConfigError("chunker.least", f"is {least}", "a whole number from 1")
        self.least = least

    def chunk(self, document: Document) -> list[Span]:
        """Spans that cover the text."""
        ends = [place + 1 for place, character in enumerate(document.text) if character == "!"]
        kept = [0]
        for end in [end for end in ends if end < len(document.text)]:
            if end - kept[-1] >= self.least:
                kept.append(end)
        return [Span(document.doc_id, start, end) for start, end in zip(kept, [*kept[1:], len(document.text)])]
'''
PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "assay-shout"
version = "1.0"

[project.entry-points."rag.plugins"]
shout = "shout"

[tool.setuptools]
packages = ["shout"]

[tool.setuptools.package-data]
shout = ["conf/**/*.yaml"]
"""
USE = """
import json, sys
from rag.config.compose import choices, compose, plugins, resolve
from rag.config.build import Components
from rag.core.errors import UserError
from rag.core.types import Document

def used(overrides):
    told = {"plugins": plugins(), "choices": choices("chunker")}
    components = Components(plugins())
    try:
        node = resolve(compose(overrides))["chunker"]
        chunker = components.role("chunker", node)
        told["chunks"] = [span.end for span in chunker.chunk(Document("d", "Stop! Oh! You there! Halt"))]
        told["identity"] = components.identity(node, "chunker")
    except UserError as error:
        told["error"] = str(error)
    return told


print(json.dumps([used(overrides.split()) for overrides in sys.argv[1:]]))
"""


def write_project(folder: Path) -> None:
    files = {
        "pyproject.toml": PROJECT,
        "shout/__init__.py": "",
        "shout/limits.py": "LEAST = 5\n",
        "shout/chunker.py": CHUNKER,
        "shout/conf/chunker/shout.yaml": "_target_: shout.chunker.ShoutChunker\nleast: 5   # characters\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def installed(folder: Path) -> Path:
    """Build a wheel of the project and install it into a folder of its own, without any network."""
    write_project(folder / "project")
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    wheels = folder / "wheels"
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", wheels, folder / "project"], check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", *options, "--target", site, wheel], check=True, capture_output=True)
    return site


def finding(site: Path) -> dict[str, str]:
    """The environment of a process that finds the packages of a folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))}


def used(site: Path, *runs: str) -> list[dict[str, object]]:
    """What a process that finds the package makes of some overrides."""
    command = [sys.executable, "-c", USE, *runs]
    result = subprocess.run(command, cwd=site.parent, env=finding(site), capture_output=True, text=True, check=True)
    found: list[dict[str, object]] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("plugin"))


def test_an_installed_plugin_is_composed_and_built(plugin: Path) -> None:
    plain, finer = used(plugin, "chunker=shout", "chunker=shout chunker.least=3")
    assert plain["plugins"] == ["shout"]
    assert plain["chunks"] == [5, 20, 25]
    assert finer["chunks"] == [5, 9, 20, 25]
    assert plain["identity"] != finer["identity"]


def test_a_package_that_declares_no_entry_point_is_not_trusted(plugin: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(plugin, site, ignore=shutil.ignore_patterns("entry_points.txt"))
    unknown, foreign = used(site, "chunker=shout", "chunker=whole chunker._target_=shout.chunker.ShoutChunker")
    assert unknown["plugins"] == []
    assert "there is no choice 'shout'" in str(unknown["error"])
    assert "'shout.chunker.ShoutChunker' is outside the trusted packages" in str(foreign["error"])
