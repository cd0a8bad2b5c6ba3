"""Wordings of questions by language: templates are data, in conf/question_templates.yaml."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import yaml

from rag.config.catalog import first
from rag.core.errors import ConfigError
from rag.core.text.templates import check_template, fill

FILE, OTHER = "question_templates", "other"
CODE = re.compile(r"^[A-Z]{1,5}[- ]?\d[\w.-]*[:.]?\s+|^\d{1,3}(?:\.|(?:\.\d{1,3})+\.?)\s+|\s*\([^()]*\)")
"""A code or a number with a dot before a title, or brackets in it."""
FIELDS = re.findall(r"\w+", "title question term column row key first second heading subject label when unit verb since year")


class Wording:
    """The templates and word lists of one language."""

    def __init__(self, language: str) -> None:
        """Raise ConfigError for a file without templates, and for a template with an unknown field."""
        content = _content()
        self.known = language in content
        self.texts: Mapping[str, Any] = content.get(language) or content[OTHER]
        for name, templates in self.texts.items():
            for template in templates if isinstance(templates, list) and name not in ("rules", "list_intros") else ():
                check_template(f"conf/{FILE}.yaml: {language}.{name}", str(template), (), FIELDS)

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        return frozenset(map(str, self.texts.get(name, ())))

    @cached_property
    def tasks(self) -> dict[str, str]:
        """The verbs of tasks by their forms: `run`, `running`; `remove`, `removing`."""
        forms = ((verb, (verb, f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing")) for verb in self.words("tasks"))
        return {form: verb for verb, names in forms for form in names}

    def has(self, name: str) -> bool:
        """True if the language has templates of this name."""
        return bool(self.texts.get(name))

    def text(self, name: str, **values: str) -> str:
        """A template of a name, filled in; values choose which of several, the same for every run."""
        templates: Sequence[str] = self.texts[name]
        return fill(templates[turn("|".join(values.values()), len(templates))], values)


def turn(text: str, size: int) -> int:
    """A number below `size` that a text chooses, the same for every run."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4]) % size


@lru_cache(maxsize=1)
def _content() -> Mapping[str, Any]:
    path = first(FILE)
    content = yaml.safe_load(path.read_text("utf-8")) if path else None
    if not isinstance(content, dict) or not isinstance(content.get(OTHER), dict):
        raise ConfigError(str(path or f"conf/{FILE}.yaml"), f"has no templates {OTHER!r}", "restore the file")
    return content


def head_title(title: str) -> str:
    """A title without codes, up to its first colon, dash or bar."""
    return re.split(r":\s|\s(?:[–—|•·-]|::)\s", short_title(title))[0]


def short_title(title: str) -> str:
    """A title without codes and brackets; `CD64 expression …` begins with no code of the document."""
    short = " ".join(CODE.sub("", title).split()).strip(" :.-")
    return title if not short or (short[0].islower() and title[0].isupper()) else short
