"""New names of modules that moved when `rag` got its packages, for plug-ins and users' own `conf/` folders."""

from rag.config.catalog import ROOMS

RENAMED = {
    "components.loaders.file_tree": "documents.file_tree",
    "components.loaders.files": "documents.files",
    "components.loaders.folder.NativeQuestions": "components.loaders.native_questions.NativeQuestions",
    "components.loaders.json_rows": "documents.json_rows",
    "components.loaders.quote_anchors": "documents.quote_anchors",
    "components.loaders.rendered": "documents.rendered",
    "asking": "core.models.chat",
    "checks.failing": "components.checks.failure_action",
    "citations": "core.text.citations",
    "claims": "core.assessments",
    "corpus": "core.corpus",
    "cross_encoders": "core.models.sentence_models",
    "edits": "core.text.edits",
    "embedders.once": "core.memo",
    "errors": "core.errors",
    "files": "core.files",
    "finals": "core.text.final_answer",
    "guards.words": "core.text.templates",
    "headings": "core.headings",
    "identity": "config.identity",
    "indexes.checking": "components.indexes.array_checks",
    "judges.asking": "components.judges.votes",
    "loaders.files": "documents.files",
    "loaders.gold": "documents.quote_anchors",
    "loaders.rows": "documents.json_rows",
    "loaders.tree": "documents.file_tree",
    "metrics.prefix": "components.metrics.ranking_metric",
    "models": "core.models.pinned",
    "once": "core.memo",
    "parameters": "config.parameters",
    "queries.asking": "components.queries.model_rewriter",
    "quotes": "core.text.quotes",
    "rankings": "core.rankings",
    "records": "core.records",
    "redaction": "core.redaction",
    "refusals": "core.text.refusals",
    "roles": "core.roles",
    "sentences": "core.text.sentences",
    "tokens": "core.text.tokens",
}

ANALYSER = "the index takes it from its analyser: for example analyser=stems, or a conf/analyser/<name>.yaml of your own"
LANGUAGE = "it is now called language"
KINDS = "words of pleasantries are in check.off_topic.kinds"
MOVED_PARAMETERS = {
    ("rag.components.checks.off_topic.OffTopicCheck", "pleasantries"): KINDS,
    ("rag.components.checks.off_topic.OffTopicCheck", "fillers"): KINDS,
    ("rag.components.indexes.bm25s.Bm25sIndex", "stemmer"): ANALYSER,
    ("rag.components.indexes.bm25s.Bm25sIndex", "stopwords"): ANALYSER,
    ("rag.components.indexes.bm25.Bm25Index", "shortest"): ANALYSER,
    ("rag.components.memories.summaries.ModelSummary", "stemmer"): LANGUAGE,
    ("rag.components.memories.summaries.PickedSentences", "stemmer"): LANGUAGE,
    ("rag.components.memories.two_layer.TwoLayerMemory", "stemmer"): LANGUAGE,
    ("rag.components.queries.carry_over.CarryOver", "stemmer"): LANGUAGE,
}
"""Class and parameter that it had → what took its place."""


def new_name(name: object) -> str:
    """The present name of a module, or of a name in one, by its old name; empty for a name that we never had."""
    package, _, old = name.partition(".") if isinstance(name, str) else ("", "", "")
    if package != "rag":
        return ""
    for known in sorted(RENAMED, key=len, reverse=True):
        if f"{old}.".startswith(f"{known}."):
            return f"rag.{RENAMED[known]}{old[len(known) :]}"
    return f"rag.components.{old}" if old.partition(".")[0] in ROOMS.values() else ""
