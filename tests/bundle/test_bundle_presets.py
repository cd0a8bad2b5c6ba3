"""Every choice of `conf/` may be in a bundle, and needs no further trust."""

from pathlib import Path

import pytest

from rag.bundle.errors import BundleError
from rag.bundle.layout import KEPT
from rag.bundle.trust import ROOMS, SEVERAL, check_config, check_roles
from rag.config import catalog
from rag.config.build import Components
from rag.config.identity import without_runtime
from rag.core.roles import INDEX_PARTS
from rag.execution.sweep.open_config import config_of


def choices(role: str) -> list[str]:
    # A bundle has no reference answers.
    return [name for name in catalog.choices(role) if (role, name) not in (("generator", "gold"), ("generator", "auto"))]


SINGLE = {role: choices(role) for role in ROOMS if role not in (*SEVERAL, *INDEX_PARTS)}
ROUNDS = [
    {role: names[number % len(names)] for role, names in SINGLE.items()} for number in range(max(map(len, SINGLE.values())))
]


@pytest.mark.parametrize("chosen", ROUNDS)
def test_presets_are_trusted(here: Path, chosen: dict[str, str]) -> None:
    several = {role: ",".join(name for name in choices(role) if name != "none") for role in SEVERAL}
    adding = ("neighbours", "parents", "window")  # come behind those that order or drop
    several["selector"] = ",".join(sorted(several["selector"].split(","), key=lambda name: name in adding))
    # These fuse a fixed number of indexes.
    several["index"] = {"single": "dense", "weighted": "bm25s,dense"}.get(chosen["fusion"], several["index"])
    known = config_of(
        [*(f"{role}={name}" for role, name in chosen.items()), *(f"{role}=[{names}]" for role, names in several.items())]
    )
    config = check_config(without_runtime({key: known.get(key, []) for key in KEPT}), "config", (), ())
    check_roles(config, Components(), "config")


def test_every_choice_is_in_a_round() -> None:
    for role, names in SINGLE.items():
        assert {chosen[role] for chosen in ROUNDS} == set(names)


@pytest.mark.parametrize(
    ("role", "choice", "values", "sent"),
    [
        ("generator", "anthropic", {"api_key_env": "OPENAI_API_KEY"}, "OPENAI_API_KEY to api.anthropic.com:443"),
        ("generator", "anthropic", {"base_url": "https://elsewhere.example/v1"}, "ANTHROPIC_API_KEY to elsewhere.example:443"),
        ("reranker", "jina", {"api_key_env": "COHERE_API_KEY"}, "COHERE_API_KEY to api.jina.ai:443"),
        ("reranker", "tei", {"base_url": "https://10.0.0.7:8080"}, "TEI_API_KEY to 10.0.0.7:8080"),
    ],
)
def test_another_server_or_the_key_of_another_one_is_refused(
    here: Path, role: str, choice: str, values: dict[str, str], sent: str
) -> None:
    known = config_of([f"{role}={choice}", *(f"{role}.{name}={value}" for name, value in values.items())])
    config = without_runtime({key: known.get(key, []) for key in KEPT})
    with pytest.raises(BundleError, match=f"questions, passages and {sent}"):
        check_config(config, "config", (), ())
    variable, host = sent.split(" to ")
    check_config(config, "config", (f"{host.partition(':')[0]}={variable}",), ())
