"""The memory of a project: a text in its own `conf/`, which `prompt=layered` shows and its shaper reads."""

from pathlib import Path

import yaml

from rag.config.yaml_files import read
from rag.core.errors import ConfigError
from rag.core.files import replace_text
from rag.core.redaction import redacted_json

FILE = Path("conf/project/memory.yaml")
MOST = 8000
"""The most characters of a memory, which every prompt holds."""


def remembered(line: str = "") -> str:
    """The memory of the working folder with a further line, without secrets; ConfigError for one that cannot be kept."""
    before = str(read(FILE).mapping.get("project") or "") if FILE.exists() else ""
    text = "\n".join(filter(None, (before, redacted_json(line))))
    if "${" in line or len(text) > MOST:
        what = "holds ${, which a config reads" if "${" in line else f"would have {len(text):,} characters"
        raise ConfigError(str(FILE), what, f"write another line, or shorten the file: at most {MOST:,} characters")
    return text


def remember(text: str) -> None:
    """Write the memory; ConfigError where its file is outside of the working folder, or cannot be written."""
    try:
        if not FILE.resolve().is_relative_to(Path.cwd().resolve()):
            raise ConfigError(str(FILE), "is outside of the working folder", "replace the link by a folder")
        replace_text(FILE, yaml.safe_dump({"project": text}, allow_unicode=True, width=120))
    except OSError as error:
        raise ConfigError(
            str(FILE), f"cannot be written ({error.strerror})", "work in a folder that you may write to"
        ) from error
