"""At least 5,000 requests that are made up from the API's description: none fails, and every response is as described."""

from pathlib import Path

import pytest
from bench.measuring import Report
from support.fuzzed_requests import fuzz
from support.servers import in_thread
from support.small_server import ALICE, QUESTION, TWO_KEYS, ask, bearer, small_app, small_bundle

pytestmark = pytest.mark.bench


def test_five_thousand_made_up_requests(tmp_path: Path) -> None:
    app = small_app(small_bundle(tmp_path), tmp_path / "serve.db", keys=TWO_KEYS, rate=0)
    told = ask(app, "/chat", json={"question": QUESTION}, headers=bearer(ALICE)).json()
    known = {"session": told["session"], "answer": told["id"], "doc_id": "ferry.md", "model": "default"}
    with in_thread(app) as (address, _):
        asked = fuzz(address, bearer(ALICE), known, 230)
    report = Report("Requests that schemathesis makes up, by what they were answered", ("status", "requests"))
    for status in sorted({status for (_, _, status) in asked}):
        report.row(status, sum(count for key, count in asked.items() if key[2] == status))
    report.show()
    assert sum(asked.values()) >= 5000
    assert max(status for (_, _, status) in asked) < 500
