"""Write a first experiment about documents of one's own."""

import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from rag.api.generation import QUESTIONS, generate_set
from rag.config.catalog import choices, plugin_modules
from rag.config.compose import written
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, DataError
from rag.core.files import replace_text

GENERATE = "generate"
EXPERIMENT = """\
question: Which settings find what is asked about these documents?
dataset: native
fixed: {fixed}
axes:
{axes}
objective: maximize ndcg@10
gate: {{split: all, metrics: {{ndcg@10: .05}}}}
"""
AXES = {"chunker": "chunker=recursive,markdown", "search": ["index=[bm25s] fusion=single", "index=[bm25s,dense] fusion=rrf"]}


def check_start(name: str, documents: str) -> Path:
    """The file of a new experiment; ConfigError for a name that is taken or no file name, DataError for a missing folder."""
    path = Path("experiments", f"{name}.yaml")
    if not re.fullmatch(r"\w[\w-]*", name):
        raise ConfigError(f"name {name!r}", "is not a file name", "letters, digits, - and _, for example mine")
    if path.exists():
        raise ConfigError(str(path), "exists, and is not overwritten", f"rag init {name}2, or remove it")
    if not Path(documents).is_dir():
        raise DataError(documents, "there is no such folder", "name the folder of your documents: --documents FOLDER")
    return path


def start(name: str, documents: str, questions: str = GENERATE, model: str = "none") -> tuple[Path, Path]:
    """Write `experiments/NAME.yaml` about a folder of documents; return its path and that of its questions.

    `questions` is a questions.jsonl, a file that `rag data import` reads, or `generate`; new ones go to `datasets/NAME`.
    `model` is a choice of `generator`, or none for sentences that are quoted. UserError for what cannot be read or is there.
    """
    path, folder = check_start(name, documents), Path("datasets", name)
    generator = "extractive" if model == "none" else model
    check_choice("--model", generator, choices("generator"))
    rows = folder / QUESTIONS
    if questions == GENERATE:
        generate_set([documents], folder)
    elif _is_native(Path(questions)):
        folder, rows = Path(questions).parent, Path(questions)
    else:
        for module in plugin_modules("imports"):
            import_module(module).import_questions(Path(questions), folder, documents)
    named = [] if rows.name == QUESTIONS else [written("dataset.questions", rows.name)]
    places = [written("dataset.path", str(folder)), *named, written("loader.path", documents)]
    write_experiment(path, [*places, f"generator={generator}", "latency=8"], AXES)
    return path, rows


def write_experiment(path: Path, fixed: Sequence[str], axes: Mapping[str, Any]) -> None:
    """Write an experiment about a native set; OSError where the file cannot be written."""

    def flow(value: Any) -> str:
        return str(yaml.safe_dump(value, default_flow_style=True, width=1 << 20, allow_unicode=True)).strip()

    listed, spanned = flow(list(fixed)), "\n".join(f"  {flow({axis: span})[1:-1]}" for axis, span in axes.items())
    replace_text(path, EXPERIMENT.format(fixed=listed, axes=spanned), "replace")


def _is_native(path: Path) -> bool:
    """Whether a file has the form of questions.jsonl; DataError where there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            first: Any = json.loads(file.readline(1 << 20))
    except OSError as error:
        raise DataError(
            str(path), f"cannot be read ({error.strerror})", "a file of questions, or: --questions generate"
        ) from error
    except ValueError:
        return False
    return isinstance(first, dict) and {"id", "text"} <= first.keys()
