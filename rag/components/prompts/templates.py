"""Texts with placeholders: `{name}` is filled in, `{{name}}` is written as `{name}`, every other brace is a brace."""

import re
from collections.abc import Collection, Mapping

from rag.core.errors import ConfigError, closest

PLACEHOLDER = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def placeholders(template: str) -> list[str]:
    """The placeholders of a text, in its order, as often as they stand there."""
    return [found[2] for found in PLACEHOLDER.finditer(template) if found[2]]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill every placeholder in one pass, so that nothing which is filled in is read as a placeholder again."""
    return PLACEHOLDER.sub(lambda found: values[found[2]] if found[2] else f"{{{found[1]}}}", template)


def parted(template: str, inner: Collection[str]) -> tuple[str, str, str]:
    """A template in three: up to its first placeholder of `inner`, from there to behind its last one, and the rest."""
    places = [found.span() for found in PLACEHOLDER.finditer(template) if found[2] in inner]
    start, end = places[0][0], places[-1][1]
    return template[:start], template[start:end], template[end:]


def check(where: str, template: str, known: Collection[str], needed: Collection[str] = ()) -> None:
    """Raise ConfigError for a placeholder that is not known, and for a needed one that is missing."""
    found = placeholders(template)
    for name in found:
        if name not in known:
            literal = f"{{{{{name}}}}} writes {{{name}}} itself"
            remedy = f"{closest(name, known)}; {literal}" if known else f"this text has no placeholders; {literal}"
            raise ConfigError(where, f"holds the unknown placeholder {{{name}}}", remedy)
    for name in needed:
        if name not in found:
            raise ConfigError(where, f"lacks the placeholder {{{name}}}", f"write {{{name}}} where it is to stand")
