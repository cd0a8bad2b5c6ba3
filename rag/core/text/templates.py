"""Templates: `{name}` is filled in, `{{name}}` writes `{name}`, every other brace is a brace."""

import re
from collections.abc import Collection, Mapping

from rag.core.errors import ConfigError, closest

PLACEHOLDER = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def placeholders(template: str) -> list[str]:
    """The names of the placeholders of a template, in order, repeated where they are repeated."""
    return [match[2] for match in PLACEHOLDER.finditer(template) if match[2]]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders in one pass, so that braces in a value stay text. Unknown placeholders stay as they are."""
    return PLACEHOLDER.sub(lambda match: values.get(match[2], match[0]) if match[2] else f"{{{match[1]}}}", template)


def split_around(template: str, names: Collection[str]) -> tuple[str, str, str]:
    """A template in three parts: the text before the first placeholder of `names`, the text up to the last one, the rest."""
    places = [match.span() for match in PLACEHOLDER.finditer(template) if match[2] in names]
    start, end = places[0][0], places[-1][1]
    return template[:start], template[start:end], template[end:]


def check_template(
    where: str, template: str, needed: Collection[str] = (), known: Collection[str] | None = None, hint: str = ""
) -> None:
    """Raise ConfigError for a placeholder that is missing, or that is not in `known` (None: any name may be used).

    An error about an unknown one ends with `hint`, in which `{name}` becomes its name.
    """
    names = placeholders(template)
    for name in names:
        if known is not None and name not in known:
            literal = f"{{{{{name}}}}} writes {{{name}}} itself"
            remedy = f"{closest(name, known)}; {literal}" if known else f"this text has no placeholders; {literal}"
            remedy += fill(hint, {"name": name})
            raise ConfigError(where, f"holds the unknown placeholder {{{name}}}", remedy)
    for name in needed:
        if name not in names:
            raise ConfigError(where, f"lacks the placeholder {{{name}}}", f"write {{{name}}} where it belongs")
