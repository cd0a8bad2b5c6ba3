"""The locks hold every package that pyproject.toml asks for, each with hashes; torch alone is apart."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
IMAGE = ("serve", "otel", "postgres")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def locked(*names: str) -> dict[str, tuple[str, str]]:
    """Package → its version and the lines of its hashes."""
    text = "\n".join(re.sub(r"^#.*\n", "", (ROOT / f"{name}.lock").read_text("utf-8")).strip() for name in names)
    entries = [entry.partition("==") for entry in re.split(r"\n(?=\S)", text)]
    return {name: (rest.split()[0], rest.partition("\\\n")[2]) for name, _, rest in entries}


def needed(*extras: str) -> list[Requirement]:
    asked = [*PROJECT["dependencies"], *(each for extra in extras for each in PROJECT["optional-dependencies"][extra])]
    return [found for each in asked if (found := Requirement(each)).name != "assay-rag"]


@pytest.mark.parametrize(
    ("extras", "locks"),
    [
        (IMAGE, ("requirements", "requirements-torch")),
        ((*IMAGE, "dev"), ("requirements", "requirements-dev", "requirements-torch")),
    ],
)
def test_every_package_is_locked_at_a_version_that_fits(extras: tuple[str, ...], locks: tuple[str, ...]) -> None:
    found = locked(*locks)
    for requirement in needed(*extras):
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)][0]), requirement


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_every_package_of_a_lock_has_hashes(name: str) -> None:
    for package, (_, hashes) in locked(name).items():
        lines = hashes.replace("\\", "").split()
        assert lines, package
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in lines), package


def test_no_package_is_in_two_locks_and_torch_is_apart() -> None:
    image, dev, apart = (locked(name) for name in ("requirements", "requirements-dev", "requirements-torch"))
    assert not (image.keys() & dev.keys() | image.keys() & apart.keys() | dev.keys() & apart.keys())
    assert "torch" in apart
    assert all(re.match(r"torch$|triton$|nvidia-|cuda-", name) for name in apart)
