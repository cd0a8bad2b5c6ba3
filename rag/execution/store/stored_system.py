"""Replies of a system behind a server, stored by question."""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from rag.core.adapters import records_from
from rag.core.errors import ReplayError
from rag.core.roles import System
from rag.core.systems import SystemReply
from rag.core.types import Query
from rag.execution.store.cached_vectors import item_id
from rag.execution.store.serialisation import json_values
from rag.execution.store.store import Entry, Store


@runtime_checkable
class AskedSystem(System, Protocol):
    """A System that gives each reply as it comes."""

    def attempts(self, queries: Sequence[Query]) -> Iterable[SystemReply]:
        """As `answer`."""
        ...


class StoredSystem:
    """A system that is asked each question once: an interrupted run asks the others only. Failures are not stored."""

    def __init__(self, system: AskedSystem, store: Store, identity: str, replay: str) -> None:
        self.system, self.store, self.space, self.replay = system, store, f"systems/{identity}", replay

    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        """The replies of the system; ReplayError where only stored ones may be used and one is missing."""
        keys = [f"{self.space}/{item_id(query.text, *(turn.text for turn in query.history)).hex()}" for query in queries]
        known = {key: records_from(SystemReply, entry.meta["given"]) for key in set(keys) if (entry := self.store.read(key))}
        missing = {key: query for key, query in zip(keys, queries, strict=True) if key not in known}
        if missing and self.replay == "only":
            what = f"allows stored replies only, and {len(missing)} of {len(queries)} questions have none"
            raise ReplayError("replay", what, "set replay=use to ask the system, or store=<the store that holds its replies>")
        for key, reply in zip(missing, self.system.attempts([*missing.values()]) if missing else (), strict=True):
            known[key] = reply
            if not reply.failure:
                self.store.write(key, Entry(meta={"given": json_values([reply])[0]}))
        return [known[key] for key in keys]
