"""The job that removes what has expired."""

import asyncio
import logging

from starlette.concurrency import run_in_threadpool

from rag.core.errors import ServiceError
from rag.serve.conversations import Conversations

LOG = logging.getLogger("rag.serve.expiry")


async def purging(conversations: Conversations, every: float = 60) -> None:
    """Remove expired sessions every so many seconds, until it is cancelled; a database that is away is tried again.

    Any number of servers can do so on one database.
    """
    while True:
        try:
            removed = await run_in_threadpool(conversations.purge)
            LOG.debug("removed %d expired sessions", removed)
        except ServiceError as error:
            LOG.warning("expired sessions are still there: %s", error.what)
        await asyncio.sleep(every)
