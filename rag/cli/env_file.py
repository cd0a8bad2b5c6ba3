"""Keys and names of models in a file `.env`, for the command line only: a library must not change the environment."""

import io
import os
import re
from pathlib import Path

from dotenv.parser import parse_stream

from rag.core.errors import ConfigError
from rag.core.models.server_keys import is_local

VARIABLE = "RAG_ENV_FILE"
"""The variable with the name of the file; `.env` of the working folder without it, and no file where it is empty."""
READ = re.compile(r"[A-Z][A-Z0-9_]*_(?:API_KEY|MODEL|BASE_URL)|RAG_DATA", re.ASCII)
"""Names that are read. A folder of unknown origin must not choose programs, proxies, databases or the server's settings."""
MOST = 1 << 16
"""Bytes of a file."""


def read_env_file() -> None:
    """Set the variables of the file that the environment does not have; ConfigError for a file that cannot be read.

    An address of a server elsewhere is refused: the author of a folder must not choose who gets your keys and documents. No
    message holds a value.
    """
    path = Path(os.environ.get(VARIABLE, ".env") or os.devnull)
    if not path.is_file():
        return
    for line, name, value in _variables(path):
        if not READ.fullmatch(name) or os.environ.get(name) or not value.strip():
            continue
        where = f"{path}:{line}: {name}"
        if "${" in value:
            raise ConfigError(where, "refers to another variable, which is not filled in", "write the value itself")
        if name.endswith("_BASE_URL") and not is_local(value):
            from rag.config.servers import Trust  # it reads conf/, which no other line needs

            try:
                Trust.of_user().check(where, value, name.replace("_BASE_URL", "_API_KEY"))
            except ConfigError as error:
                remedy = f"export {name}=<address> if you trust it with your documents; the line may stay then"
                raise ConfigError(where, "names a server that is not on this machine", remedy) from error
        os.environ[name] = value


def _variables(path: Path) -> list[tuple[int, str, str]]:
    """Line, name and value of each variable of a file."""
    form = f"lines such as OPENAI_API_KEY=<key>, or {VARIABLE}= (empty) to read no file"
    try:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is not text in UTF-8")
        raise ConfigError(str(path), f"cannot be read: {reason}", form) from error
    if len(data) > MOST or "\0" in text:
        raise ConfigError(str(path), f"holds a zero byte, or more than {MOST:,} bytes", form)
    found = list(parse_stream(io.StringIO(text)))
    if wrong := next((each for each in found if each.error), None):
        line = wrong.original.line + len(wrong.original.string) - len(wrong.original.string.lstrip("\r\n"))
        raise ConfigError(f"{path}:{line}", "is no assignment, or its quotes do not close", form)
    return [(each.original.line, each.key, each.value) for each in found if each.key and each.value is not None]
