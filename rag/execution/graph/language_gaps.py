"""Components of planned trials that do not know the language of their trial."""

from collections.abc import Iterator, Mapping
from typing import Any

from rag.config.build import TARGET, Components
from rag.core.roles import languages_of
from rag.execution.graph.plan import Plan, ends_of


def language_gaps(made: Plan) -> tuple[str, ...]:
    """A sentence for each class whose rules or weights are for other languages than `language`, in the order of the stages."""
    found: dict[tuple[str, str], str] = {}
    seen = set[tuple[str, str]]()
    for trial in made.trials:
        language = str(trial.trial.config.get("language", "english"))
        for key in made.graph.ancestors(*ends_of(trial)):
            if (language, key) not in seen:
                seen.add((language, key))
                for name, sentence in _gaps(made.stages[key].nodes, language, made.graph.components):
                    found.setdefault((language, name), sentence)
    return tuple(found.values())


def _gaps(nodes: Mapping[str, Any], language: str, components: Components) -> Iterator[tuple[str, str]]:
    for place, node in _nodes(nodes, ""):
        known, name = languages_of(components.build(node, place)), node[TARGET].rpartition(".")[2]
        if known and language not in known:
            named = place.removeprefix("screens.").removeprefix("inspections.").removeprefix("framings.")
            made_for = f"its rules, words or weights are for {', '.join(known)} only"
            yield name, f"{named} ({name}): {made_for}, and language is {language}."


def _nodes(value: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The components in the nodes of a stage, at any depth, with their places."""
    if isinstance(value, Mapping):
        if TARGET in value:
            yield place, value
        for name, part in value.items():
            yield from _nodes(part, f"{place}.{name}".lstrip("."))
