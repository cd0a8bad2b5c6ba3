"""Every choice of `conf/` may be in a bundle, and needs no further trust."""

from pathlib import Path

import pytest

from rag.bundle.layout import KEPT
from rag.bundle.trust import ROOMS, SEVERAL, check_config, check_roles
from rag.config import catalog
from rag.config.build import Components
from rag.config.identity import without_runtime
from rag.core.roles import INDEX_PARTS
from rag.execution.sweep.open_config import config_of


def choices(role: str) -> list[str]:
    # A bundle has no reference answers, and litellm is not installed.
    return [name for name in catalog.choices(role) if role != "generator" or name not in ("gold", "auto", "litellm")]


SINGLE = {role: choices(role) for role in ROOMS if role not in (*SEVERAL, *INDEX_PARTS)}
ROUNDS = [
    {role: names[number % len(names)] for role, names in SINGLE.items()} for number in range(max(map(len, SINGLE.values())))
]


@pytest.mark.parametrize("number", range(len(ROUNDS)))
def test_presets_are_trusted(here: Path, number: int) -> None:
    chosen, several = ROUNDS[number], dict[str, str]()
    if not number:
        several = {role: ",".join(name for name in choices(role) if name != "none") for role in SEVERAL}
        adding = ("neighbours", "parents", "window")  # come behind those that order or drop
        several["selector"] = ",".join(sorted(several["selector"].split(","), key=lambda name: name in adding))
        chosen = chosen | {"fusion": "rrf"}
    elif chosen["fusion"] in ("single", "weighted"):  # these fuse a fixed number of indexes
        several["index"] = "dense" if chosen["fusion"] == "single" else "bm25s,dense"
    known = config_of(
        [*(f"{role}={name}" for role, name in chosen.items()), *(f"{role}=[{names}]" for role, names in several.items())]
    )
    config = check_config(without_runtime({key: known.get(key, []) for key in KEPT}), "config", (), ())
    check_roles(config, Components(), "config")
