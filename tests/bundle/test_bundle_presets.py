"""Every choice of `conf/` may be in a bundle, and needs no further trust."""

from pathlib import Path

import pytest

from rag.bundle.layout import KEPT
from rag.bundle.trust import ROOMS, SEVERAL, check_config, check_roles
from rag.config.build import Components
from rag.config.identity import without_runtime
from rag.core.files import shipped
from rag.core.roles import INDEX_PARTS
from rag.execution.sweep.open_config import config_of


def choices(role: str) -> list[str]:
    found = sorted(path.stem for path in (shipped("conf") / role).glob("*.yaml"))
    # A bundle has no reference answers.
    return [name for name in found if (role, name) not in (("generator", "gold"), ("generator", "auto"))]


SINGLE = {role: choices(role) for role in ROOMS if role not in (*SEVERAL, *INDEX_PARTS)}
ROUNDS = [
    {role: names[number % len(names)] for role, names in SINGLE.items()} for number in range(max(map(len, SINGLE.values())))
]


@pytest.mark.parametrize("chosen", ROUNDS)
def test_presets_are_trusted(here: Path, chosen: dict[str, str]) -> None:
    several = {role: ",".join(name for name in choices(role) if name != "none") for role in SEVERAL}
    # These fuse a fixed number of indexes.
    several["index"] = {"single": "dense", "weighted": "bm25s,dense"}.get(chosen["fusion"], several["index"])
    known = config_of(
        [*(f"{role}={name}" for role, name in chosen.items()), *(f"{role}=[{names}]" for role, names in several.items())]
    )
    config = check_config(without_runtime({key: known[key] for key in KEPT}), "config", (), ())
    check_roles(config, Components(), "config")


def test_every_choice_is_in_a_round() -> None:
    for role, names in SINGLE.items():
        assert {chosen[role] for chosen in ROUNDS} == set(names)
