"""`rag data import` and `rag data export`."""

import json
from pathlib import Path

from support.command_line import Verb


def test_a_table_becomes_a_set_that_checks_and_is_exported(rag: Verb, golden: Path, here: Path) -> None:
    (here / "mine.csv").write_text(
        "frage,answer,contexts\nWhen?,seven,The ferry to Holm leaves at SEVEN!\nWho?,a painter,\nWhy?,,\n", "utf-8"
    )
    documents = str(golden / "documents")
    refused = rag("dataset", "import", "mine.csv", "--to", "set", "--documents", documents)
    assert (refused.code, "there are: 'frage', 'answer', 'contexts'" in refused.err) == (2, True)
    done = rag("dataset", "import", "mine.csv", "--to", "set", "--documents", documents, "--question", "frage")
    assert done.code == 0
    for line in ("csv, 3 rows → 2 questions", "Evidence: 1 fuzzy", "1 question without evidence", "Refused (1):"):
        assert line in done.out
    assert rag("dataset", "check", "native", "dataset.path=set", f"loader.path={documents}").code == 0
    again = rag("dataset", "import", "mine.csv", "--to", "set")
    assert (again.code, "exists already" in again.err) == (2, True)
    out = rag(
        *("dataset", "export", "native", "dataset.path=set", f"loader.path={documents}", "--format", "beir"),
        *("--to", "out", "--json"),
    )
    assert out.json == {"folder": "out", "questions": 2, "not_held": {"answers": 2, "quotes": 1}}
    assert json.loads((here / "out/queries.jsonl").read_text("utf-8").splitlines()[0])["text"] == "When?"
