"""What planned trials do not read: components for another language, and the share of chunks beyond the embedder's window."""

from collections.abc import Iterator, Mapping
from typing import Any

from rag.components.passages.plain import PlainText
from rag.config.build import TARGET, Components
from rag.core.roles import is_costly, languages_of
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.store.store import Store
from rag.pipeline.search import unread_text


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


def unread_shares(made: Plan, store: Store) -> dict[str, float | None]:
    """By id of the trials that embed: the share of the characters of its chunks beyond the embedder's window.

    The stored share where the stage ran, else an estimate from the documents; None where it is not known.
    """
    vectors = {
        trial.trial_id: (key, trial)
        for trial in made.trials
        for key in made.graph.ancestors(*ends_of(trial))
        if made.stages[key].name == "embed"
    }
    shares = {key: _share(made, key, trial, store) for key, trial in dict(vectors.values()).items()}
    return {trial_id: shares[key] for trial_id, (key, _) in vectors.items()}


def _share(made: Plan, key: str, trial: PlannedTrial, store: Store) -> float | None:
    embed = made.stages[key]
    chunk = passage = made.stages[embed.inputs["corpus"]]
    if passage.name == "passage":
        chunk = made.stages[passage.inputs["corpus"]]
    build = made.graph.components.build
    writer = build(passage.nodes["passage"], "passage") if "passage" in passage.nodes else PlainText()
    meta = store.read_meta(embed.entry)
    if meta is not None or chunk.name != "chunk":
        return (meta or {}).get("unread")
    chunker, embedder = build(chunk.nodes["chunker"], "chunker"), build(embed.nodes["embedder"], "embedder")
    if is_costly(writer) or is_costly(chunker):
        return None
    return unread_text.expected(embedder, chunker, writer, trial.golden.documents)
