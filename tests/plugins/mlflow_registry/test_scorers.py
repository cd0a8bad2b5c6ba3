"""Rankings in `mlflow.genai.evaluate` have the metrics of a trial."""

import shutil
from pathlib import Path

import pytest
from support.small_set import QUESTIONS, TEXTS, write_golden

import rag
from rag.core.errors import DataError
from rag.plugins.mlflow_registry.scorers import COLUMNS, ranking_scorer


def test_a_scorer_measures_what_a_trial_measures(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_GENAI_EVAL_MAX_WORKERS", "1")
    golden, place = write_golden(tmp_path / "golden"), f"dataset.path={tmp_path}/golden"
    documents = [{"page_content": text, "metadata": {"doc_uri": name}} for name, text in TEXTS.items()]
    found = {"q2": [], "q3": ["Made up.", *documents, *documents[::-1]], "q4": documents[::-1]}
    returned = {name: found.get(name, documents) for name, *_ in QUESTIONS}
    by_text = {text: returned[name] for name, text, *_ in QUESTIONS}
    trial = rag.evaluate(
        lambda asked: by_text[asked], "native", "latency=0", f"metrics=[{','.join(COLUMNS)}]", questions=golden
    )
    ours = {(row["question"], row["metric"].replace("@", "_")): row["score"] for row in trial.scores}
    scorer = ranking_scorer("native", place)
    mlflow.set_tracking_uri(f"sqlite:///{shutil.copy(tables, tmp_path / 'own.db')}")
    try:
        data = [{"inputs": {"question_id": name}, "outputs": passages} for name, passages in returned.items()]
        rows = mlflow.genai.evaluate(data=data, scorers=[scorer]).result_df
    finally:
        mlflow.set_tracking_uri(None)  # type: ignore[arg-type]
    known = [name for name in rows.columns if name.endswith("/value")]
    cells = [((row["request"]["question_id"], name[:-6]), row[name]) for row in rows.to_dict("records") for name in known]
    theirs = {key: value for key, value in cells if value is not None and value == value}
    assert theirs == pytest.approx(
        {key: value for key, value in ours.items() if value == value and value is not None}, abs=1e-9
    )
    assert len(theirs) == 5 * len(COLUMNS)  # q5 has no gold
    with pytest.raises(DataError, match="no question of native: 'Who\\?'"):
        scorer(inputs={"question": "Who?"}, outputs=[])
