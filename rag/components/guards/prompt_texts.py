"""What guards say to models stands in configs; placeholders in it are filled literally."""

import re
from collections.abc import Sequence

from rag.core.errors import ConfigError, closest

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,40})\}")


def filled(words: str, **values: str) -> str:
    """`words` with every placeholder filled in one pass, so that nothing which is filled in is read as one again."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], words)


def placeholders(words: str, where: str, known: Sequence[str], needed: bool = False) -> None:
    """Raise ConfigError for a placeholder that is not known, or, if they are `needed`, for one that is not there."""
    found = PLACEHOLDER.findall(words)
    for name in found:
        if name not in known:
            raise ConfigError(where, f"holds the unknown placeholder {{{name}}}", closest(name, known))
    for name in known if needed else ():
        if name not in found:
            raise ConfigError(where, f"lacks the placeholder {{{name}}}", f"write {{{name}}} where it is to stand")
