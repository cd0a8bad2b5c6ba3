"""The template of a report: JSON or YAML → sections with guidance. Every problem is a DataError that names its place."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from rag.core.errors import DataError, together
from rag.pipeline.search.search_filter import EVERYTHING, Scope

LARGEST, SECTIONS, LEVELS = 1 << 20, 1000, 5
"""The most bytes of a file, sections, and levels of sections."""
OUTLINE = 12_000
"""Characters of an outline; a longer one has the headings alone."""
REMEDY = "rag data schema template prints what a template may hold"
CLOSED = ConfigDict(extra="forbid")
Heading = Annotated[str, Field(max_length=300, pattern=r"\S")]


@checked(frozen=True, config=CLOSED)
class Section:
    """A heading, what the section is to say, the sections in it, and where to search; without `within` as the one above."""

    heading: Heading
    guidance: Annotated[str, Field(max_length=10_000)] = ""
    subsections: tuple["Section", ...] = ()
    within: Scope | None = None


@checked(frozen=True, config=CLOSED)
class Template:
    """A report that is to be written."""

    title: Heading
    sections: Annotated[tuple[Section, ...], Field(min_length=1)]


SHAPE = TypeAdapter(Template)


@dataclass(frozen=True, slots=True)
class Planned:
    """A section with its number (`2.1`) and its place in the template; `is_written` is False for a heading only."""

    number: str
    where: str
    heading: str
    guidance: str
    scope: Scope
    is_written: bool

    @property
    def question(self) -> str:
        """The text that is searched for."""
        return f"{self.heading}: {self.guidance}" if self.guidance else self.heading


def read_template(source: Path | str | Mapping[str, Any]) -> tuple[str, list[Planned]]:
    """Title and sections of a template, a file or its content; DataError for anything else."""
    where = "template" if isinstance(source, Mapping) else str(source)
    try:
        template = SHAPE.validate_json(json.dumps(source if isinstance(source, Mapping) else _content(Path(source))))
        sections = list(_planned(template.sections, f"{where}: sections"))
        if len(sections) > SECTIONS:
            raise ValueError(f"it has {len(sections):,} sections, and {SECTIONS:,} are allowed")
    except ValidationError as error:
        raise together(DataError(f"{where}: {_place(e['loc'])}", e["msg"], REMEDY) for e in error.errors()[:5]) from error
    except OSError as error:
        raise DataError(where, f"cannot be read ({error.strerror})", "name a template, a .json or .yaml file") from error
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise DataError(where, f"is no template: {' '.join(str(error).split())[:200]}", REMEDY) from error
    return " ".join(template.title.split()), sections


def outline(title: str, sections: Sequence[Planned]) -> str:
    """The whole template as text; headings alone where it would be too long for a prompt."""
    whole = "\n".join((title, *(f"{each.number} {each.question}" for each in sections)))
    return whole if len(whole) <= OUTLINE else "\n".join((title, *(f"{each.number} {each.heading}" for each in sections)))


def _content(path: Path) -> Any:
    if (size := path.stat().st_size) > LARGEST:
        raise ValueError(f"it has {size:,} bytes, and {LARGEST:,} are allowed")
    text = path.read_text("utf-8-sig")
    if path.suffix.lower() not in (".yaml", ".yml"):
        return json.loads(text)
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.CSafeLoader)):
        raise ValueError("it repeats a part by an alias (*name); write the part out")
    return yaml.safe_load(text)


def _planned(sections: Sequence[Section], where: str, above: str = "", scope: Scope = EVERYTHING) -> Iterator[Planned]:
    for place, section in enumerate(sections):
        own, number, inner = f"{where}[{place}]", f"{above}{place + 1}", section.within or scope
        if number.count(".") >= LEVELS:
            raise DataError(own, f"is on level {LEVELS + 1}", f"{LEVELS} levels at most")
        heading, guidance = " ".join(section.heading.split()), section.guidance.strip()
        yield Planned(number, own, heading, guidance, inner, bool(guidance or not section.subsections))
        yield from _planned(section.subsections, f"{own}.subsections", f"{number}.", inner)


def _place(parts: Sequence[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".") or "template"
