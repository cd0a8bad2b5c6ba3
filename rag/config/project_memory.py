"""The memory of a project: a text in its own `conf/`, which `prompt=layered` shows and its shaper reads."""

from pathlib import Path

import yaml

from rag.config.yaml_files import read
from rag.core.errors import ConfigError
from rag.core.files import replace_text, writing
from rag.core.redaction import redacted_json

FILE = Path("conf/project/memory.yaml")


def remembered(line: str = "") -> str:
    """The memory with a further line, without secrets; ConfigError for a line that a config cannot hold, and a long memory."""
    text = "\n".join(filter(None, (read(FILE).mapping.get("project") if FILE.exists() else "", redacted_json(line))))
    if "${" in line or len(text) > 8000:
        raise ConfigError(str(FILE), "cannot hold this", "a line without ${; at most 8,000 characters in all")
    return text


def remember(text: str) -> None:
    """Write the memory; StoreError where the file is outside of the working folder, or cannot be written."""
    with writing(FILE, "it must be a file in this folder"):
        if not FILE.resolve().is_relative_to(Path.cwd().resolve()):
            raise OSError("it is elsewhere")
        replace_text(FILE, yaml.safe_dump({"project": text}, allow_unicode=True))
