"""Questions off the topic are declined before a model is asked, live and in a sweep."""

import json
from pathlib import Path

import pytest
from support.scripted_server import say, serving

from rag.config.experiment import ad_hoc
from rag.execution.graph.stage_inputs import answers_of, corpus_of
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import open_config

ASKED = ("How do I bake sourdough bread?", "How long does a ferry to Holm take?", "How many boats per harbour?")
BOATS = "# Boats\n\nThe ferry to Holm takes an hour.\n\n| Boat | Harbour |\n|---|---|\n| Coot | Elm |\n| Teal | Elm |\n"
PRESET = ("preset=two_index_engine", "generator=openai", "helper=openai", "dataset=native", "dataset.path=golden", "latency=0")
MODELS = ("enrich=tables", "generator.runtime.retries=0", "metrics=[recall@5]", "split=all")


def test_no_model_is_asked_off_the_topic(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "golden" / "documents").mkdir(parents=True)
    (here / "golden" / "documents" / "boats.md").write_text(BOATS, "utf-8")
    rows = [{"id": f"q{number}", "text": text, "evidence": []} for number, text in enumerate(ASKED)]
    (here / "golden" / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    with serving(say("no JSON")) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        ready = sweep.prepare(ad_hoc([*PRESET, *MODELS]))
        trial = ready.plan.trials[0]
        pipeline, queries = open_config(trial.trial.config), [example.query for example in trial.golden.examples]
        live = [pipeline.answer(query) for query in queries]
        assert [answer.look.declined for answer in live] == [True, False, False]
        done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
        assert [row.error for row in done.board.rows] == [""]
        assert script.asked
        assert "sourdough" not in str(script.asked)
    entry = {key: ready.store.read(ready.plan.stages[key].entry) for key in (trial.ends.check, trial.ends.corpus)}
    stored = answers_of(entry[trial.ends.check], corpus_of(entry[trial.ends.corpus], trial.golden), queries)
    assert [(each.reply.text, each.contexts) for each in stored] == [(each.reply.text, each.contexts) for each in live]
