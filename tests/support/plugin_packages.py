"""Packages with components, installed into a folder."""

from collections.abc import Mapping
from pathlib import Path


def add_plugin(site: Path, name: str, source: str, choices: Mapping[str, str]) -> None:
    """Install a package of one module into a folder; `choices` are group/name → the class that the choice builds."""
    (package := site / name).mkdir(parents=True)
    (package / "__init__.py").write_text(source, "utf-8")
    for choice, target in choices.items():
        path = package / "conf" / f"{choice}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"_target_: {name}.{target}\n", "utf-8")
    (info := site / f"{name}-1.0.dist-info").mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[rag.plugins]\n{name} = {name}\n", "utf-8")
