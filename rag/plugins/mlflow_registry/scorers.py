"""Metrics of rankings as a scorer of `mlflow.genai.evaluate`.

MLflow's own `ndcg_at_k` takes as its ideal only as many documents as were found (github.com/mlflow/mlflow/issues/24541), and
may find a document that was not there where one is found twice (25965).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.authoring.exchange.cells import passage_of
from rag.authoring.exchange.score_rows import asked
from rag.core.errors import DataError
from rag.core.systems import SystemReply
from rag.evaluation.data.golden import load
from rag.evaluation.gold_matching import judge
from rag.evaluation.gold_table import gold_table
from rag.evaluation.scoring import budgets, score
from rag.execution.graph.plan import components_for
from rag.execution.graph.stage_inputs import Job, corpus_of, rankings_of
from rag.execution.graph.system_stages import placed
from rag.execution.store import maintenance
from rag.execution.store.serialisation import json_values
from rag.execution.store.store import Entry
from rag.execution.sweep.open_config import config_of
from rag.tracking.run_content import metric_name

if TYPE_CHECKING:
    from mlflow.genai.scorers import Scorer

COLUMNS = ("ndcg@10", "recall@10", "mrr@10")


def ranking_scorer(dataset: str, *overrides: str, columns: Sequence[str] = COLUMNS) -> "Scorer":
    """A scorer whose feedback are the columns that apply to a question, such as `ndcg_at_10`, as a trial would have them.

    `inputs` name a question of the set by its text or id. `outputs` are passages, best first, or hold them as `passages`; else
    those of the last retriever in the trace count. DataError for a question that is not in the set.
    """
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import scorer

    config = config_of([f"dataset={dataset}", *overrides])
    store = maintenance.at(config["store"])
    components = components_for(store)
    golden = load(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))
    metrics = {name: components.role("metric", node, f"metric.{name}") for name, node in config["metric"].items()}
    examples = {name: each for each in golden.examples for name in (each.query.text, each.query.query_id)}

    def assay(inputs: Mapping[str, Any], outputs: Any, trace: Any = None) -> list[Any]:
        if (example := examples.get(name := asked(inputs))) is None:
            raise DataError("inputs", f"name no question of {dataset}: {name!r}", "ask by the text or the id of one")
        one, listed = replace(golden, examples=(example,)), outputs.get("passages") if isinstance(outputs, Mapping) else outputs
        spans = trace.search_spans(span_type="RETRIEVER") if trace and not isinstance(listed, list) else []
        if not isinstance(listed := spans[-1].outputs if spans else listed, list):
            raise DataError("outputs", "are no passages, and no retriever in the trace has some", "return a list of passages")
        given = SystemReply(tuple(passage_of(each, "outputs") for each in listed))
        entry = placed(Job({}, {}, {"system": Entry(meta={"given": json_values([given])})}, one, components, store))
        corpus, rankings, coverage = corpus_of(entry, one), rankings_of(entry), config["coverage"]
        judged = judge(rankings, gold_table(corpus, one.examples, coverage))
        cut = budgets(rankings, corpus, one.examples, coverage)
        values = score(judged, None, one.examples, metrics, columns, config["k"], budgets=cut).values[0].tolist()
        named = zip(map(metric_name, columns), values, strict=True)
        return [Feedback(name=column, value=value) for column, value in named if value == value]

    return scorer(assay)
