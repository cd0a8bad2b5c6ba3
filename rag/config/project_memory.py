"""The memory of a project: a text in its own `conf/`, which `prompt=layered` shows and its shaper reads."""

from pathlib import Path

import yaml

from rag.config.yaml_files import read
from rag.core.errors import ConfigError
from rag.core.files import replace_text
from rag.core.redaction import redacted_json

FILE = Path("conf/project/memory.yaml")
LONGEST = 8000


def remembered(line: str = "") -> str:
    """The memory with a further line, without secrets; ConfigError for one that a config cannot hold, or beyond LONGEST."""
    text = "\n".join(filter(None, (read(FILE).mapping.get("project") if FILE.exists() else "", redacted_json(line))))
    if "${" in line or len(text) > LONGEST:
        raise ConfigError(str(FILE), "cannot hold this", f"a line without ${{; at most {LONGEST:,} characters in all")
    return text


def remember(text: str) -> None:
    """Write the memory; ConfigError where the file is outside of the working folder, or cannot be written."""
    try:
        if not FILE.resolve().is_relative_to(Path.cwd().resolve()):
            raise OSError(0, "it is outside of the working folder")
        replace_text(FILE, yaml.safe_dump({"project": text}, allow_unicode=True))
    except OSError as error:
        raise ConfigError(str(FILE), f"cannot be written: {error.strerror}", "a folder here that you may write to") from error
