"""The locks hold every package that pyproject.toml asks for, each with hashes; torch alone is apart."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
IMAGE = ("mlflow", "serve", "otel", "postgres", "openai", "faiss", "torch")
LOCKS = ("requirements", "requirements-image", "requirements-dev")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def locked(*names: str) -> dict[str, tuple[str, str]]:
    """Package → its version and the lines of its hashes."""
    text = "\n".join(re.sub(r"^#.*\n", "", (ROOT / f"{name}.lock").read_text("utf-8")).strip() for name in names)
    entries = [entry.partition("==") for entry in re.split(r"\n(?=\S)", text)]
    return {name: (rest.split()[0], rest.partition("\\\n")[2]) for name, _, rest in entries}


def needed(*extras: str) -> list[Requirement]:
    found = [Requirement(each) for each in PROJECT["dependencies"]]
    for extra in extras:
        for each in map(Requirement, PROJECT["optional-dependencies"][extra]):
            found += needed(*each.extras) if each.name == PROJECT["name"] else [each]
    return found


@pytest.mark.parametrize(
    ("extras", "locks"),
    [(("mlflow",), LOCKS[:1]), (IMAGE, (*LOCKS[:2], "requirements-torch")), ((*IMAGE, "dev"), (*LOCKS, "requirements-torch"))],
)
def test_every_package_is_locked_at_a_version_that_fits(extras: tuple[str, ...], locks: tuple[str, ...]) -> None:
    found = locked(*locks)
    for requirement in needed(*extras):
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)][0]), requirement


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_a_lock_has_hashes(name: str) -> None:
    for package, (_, hashes) in locked(name).items():
        lines = hashes.replace("\\", "").split()
        assert lines, package
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in lines), package


def test_a_package_has_one_version_and_torch_is_apart() -> None:
    *others, apart = (locked(name) for name in (*LOCKS, "requirements-torch"))
    versions = {(name, version) for lock in others for name, (version, _) in lock.items()}
    assert len(versions) == len({name for name, _ in versions} - apart.keys())
    assert "torch" in apart
    assert all(re.match(r"torch$|triton$|nvidia-|cuda-", name) for name in apart)
