"""The share of chunks that the embedder of each planned trial does not read: a warning before anything is spent."""

from rag.components.passages.plain import PlainText
from rag.core.roles import is_costly
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.store.store import Store
from rag.pipeline.search import unread_text


def unread_shares(made: Plan, store: Store) -> dict[str, float | None]:
    """By id of the trials that embed: the share of the characters of its chunks beyond the embedder's window.

    The stored share where the stage ran, else an estimate from the documents; None where it is not known.
    """
    vectors = {trial.trial_id: (key, trial) for trial in made.trials if (key := _embedding(made, trial))}
    shares = {key: _share(made, key, trial, store) for key, trial in dict(vectors.values()).items()}
    return {trial_id: shares[key] for trial_id, (key, _) in vectors.items()}


def _embedding(made: Plan, trial: PlannedTrial) -> str | None:
    return next((key for key in made.graph.ancestors(*ends_of(trial)) if made.stages[key].name == "embed"), None)


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
