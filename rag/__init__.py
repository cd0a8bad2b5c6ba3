"""Assay: declarative, evaluation-first experiments for retrieval-augmented generation.

The names below are the Python interface, see docs/python.md. They are imported on first use.
"""

import os
from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Threads of OpenMP that wait by spinning starve each other as soon as anything else runs: measured on two busy cores, MiniLM
# took 288 ms a text that way and 41 ms so. It must be set before torch is first imported, which models of the extra `torch` do.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

_PLACES = {
    "UserError": "rag.core.errors",
    "compare": "rag.api.verdicts",
    "evaluate": "rag.api.evaluate",
    "gate": "rag.api.verdicts",
    "load_experiment": "rag.api.sweeps",
    "open_bundle": "rag.api.pipelines",
    "open_pipeline": "rag.api.pipelines",
    "open_sweep": "rag.api.sweeps",
    "plan": "rag.api.sweeps",
    "sweep": "rag.api.sweeps",
    "try_folder": "rag.api.first_sweep",
    "write_report": "rag.api.writing",
}

__all__ = [
    "UserError",
    "__version__",
    "compare",
    "evaluate",
    "gate",
    "load_experiment",
    "open_bundle",
    "open_pipeline",
    "open_sweep",
    "plan",
    "sweep",
    "try_folder",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
