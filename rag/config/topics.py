"""The config groups by topic, with their meanings."""

from collections.abc import Iterable, Mapping

TOPICS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "dataset": ("what is asked", {"dataset": "golden questions, and the loader of their documents"}),
    "system": ("a system that runs already", {"system": "searches, and perhaps answers, in place of the parts below"}),
    "documents": (
        "which files are read, and how",
        {
            "loader": "reads the documents",
            "parser": "read one format of files, named in loader.parsers",
            "redactor": "finds values that are not stored, named in loader.redactor",
            "ingest": "decides which files become documents, named in loader.ingest",
            "noise": "finds text that is no content, such as page headers, named in loader.noise",
        },
    ),
    "records": (
        "typed fields of documents, which can be counted and listed",
        {
            "enrich": "makes records of documents: typed fields that can be counted and listed",
            "roster": "joins records with an authoritative table",
        },
    ),
    "chunker": (
        "passages: how they are cut, and what is read of them",
        {"chunker": "cuts documents into passages", "passage": "says what indexes, embedder and reranker read of a chunk"},
    ),
    "embedder": ("vectors", {"embedder": "turns texts into vectors"}),
    "index": (
        "the search",
        {
            "index": "finds passages; a trial may have several",
            "analyser": "cuts texts into the terms of a word index, named in index.bm25s.analyser",
            "fusion": "makes one ranking of those of several indexes",
        },
    ),
    "reranker": ("a second look at the best passages", {"reranker": "scores the best passages a second time"}),
    "selector": (
        "which passages are read, and what around them",
        {"selector": "drops, orders or widens what was found; a trial may have several"},
    ),
    "look": (
        "what happens around a search",
        {
            "look": "looks for what answers a question; a trial may have several",
            "route": "says whether passages or records answer a question",
            "policy": "says how often the pipeline looks before it answers",
            "reuse": "says what a conversation uses again of what it found",
            "shape": "says what a question asks for, before and after the search",
            "condense": "makes a short context of the passages",
        },
    ),
    "conversation": (
        "what earlier turns do",
        {"queries": "says what is searched for in a conversation", "memory": "says what the model sees of a conversation"},
    ),
    "prompt": ("instructions", {"prompt": "lays out question and passages for a model"}),
    "generator": (
        "answers",
        {"generator": "answers", "helper": "the small model of all that rewrites, sums up, routes, takes apart or enriches"},
    ),
    "safety": (
        "hostile documents, and answers that may be wrong",
        {
            "guard": "protects against documents that give orders; a trial may have several",
            "check": "looks at answers before a person does; a trial may have several",
        },
    ),
    "measure": (
        "scores",
        {
            "judge": "says how far answers follow from passages",
            "metric": "measures; `metrics` names those of a trial, with their cuts",
        },
    ),
    "execute": ("one process, several, or a cluster", {"execute": "where stages run"}),
    "preset": ("a whole system", {"preset": "a whole system: choices for the other groups, which an override replaces"}),
}
"""Topic → its meaning, and its groups with theirs."""


def topics(known: Iterable[str]) -> dict[str, tuple[str, dict[str, str]]]:
    """The topics that have any of the `known` groups; a group of a plug-in or of one's own folder is a topic by itself."""
    known = list(known)
    held = {
        name: (meaning, {group: says for group, says in groups.items() if group in known})
        for name, (meaning, groups) in TOPICS.items()
    }
    placed = {group for _, groups in TOPICS.values() for group in groups}
    own = {group: ("", {group: ""}) for group in known if group not in placed}
    return {name: topic for name, topic in {**held, **own}.items() if topic[1]}
