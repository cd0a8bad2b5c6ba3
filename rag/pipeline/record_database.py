"""The database of records, for the pipeline; routers use it too, so it is in `rag.core`."""

from rag.core.record_database import RecordDatabase as RecordDatabase
