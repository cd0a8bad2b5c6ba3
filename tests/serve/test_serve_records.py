"""Records in a bundle: a server lists them with their documents, and searches by their fields; Python reads them."""

from pathlib import Path

import pytest
from support.servers import running
from support.small_server import QUESTION, small_bundle
from support.small_set import TEXTS

from rag.api.pipelines import open_bundle
from rag.core.errors import ConfigError


def test_a_server_shows_records_and_filters_by_their_fields(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path, "enrich=rules", "generator=none")
    with running([bundle], tmp_path / "serve.db") as server:
        listed = server.client.get("/documents").json()["documents"]
        shown = server.client.get("/documents/bus.md").json()
        found = server.payload("/search", question=QUESTION, k=9, within={"metadata": {"format": "md", "title": "Bus"}})
        problem = server.post("/search", question=QUESTION, within={"metadata": {"formt": "md"}})
    assert {one["id"]: one["record"]["format"] for one in listed} == {name: name.rpartition(".")[2] for name in TEXTS}
    (record,) = shown["records"]
    assert record["values"] == shown["record"]
    assert record["values"]["title"] == "Bus"
    assert (record["table"], record["record"]) == ("documents", "bus.md")
    assert shown["text"][record["start"] : record["end"]] == "# Bus"
    assert {one["doc_id"] for one in found["passages"]} == {"bus.md"}
    assert problem.status_code == 422
    assert "format" in problem.json()["remedy"]

    opened = open_bundle(bundle)
    rows = {row["doc_id"]: row["title"] for row in opened.records()}
    assert rows["bus.md"] == "Bus"
    assert {row["doc_id"] for row in opened.within({"title": "Bus"}).search(QUESTION)} == {"bus.md"}
    with pytest.raises(ConfigError, match="there is no 'assets'"):
        opened.records("assets")
