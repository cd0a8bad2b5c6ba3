"""The Dockerfile and the compose file follow our rules: pinned, unprivileged, without secrets, local."""

import re
from dataclasses import fields
from typing import Any

import pytest
from support.container_files import ROOT, arguments_of, composed, stages

from rag.serve.settings import Settings, variable_name

ENVIRONMENT = {variable_name(field.name) for field in fields(Settings)}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file."""
    return composed()


def test_images_are_pinned(compose: dict[str, Any]) -> None:
    (python,) = [rest.partition("=")[2] for rest in arguments_of("ARG") if rest.startswith("PYTHON=")]
    assert re.fullmatch(r"3\.\d+", python)
    for image in arguments_of("FROM"):
        assert image.startswith("python:${PYTHON}-slim-")
    for service in compose["services"].values():
        assert service.get("build") or re.search(r":\d", service["image"]) or service["image"] == "assay"


def test_the_server_runs_as_an_unprivileged_user() -> None:
    last = stages()[-1]
    names = [instruction for instruction, _ in last]
    assert "USER" in names[: names.index("ENTRYPOINT")]
    (user,) = [rest for instruction, rest in last if instruction == "USER"]
    assert user.isdecimal()
    assert int(user) > 0
    assert f"--uid {user}" in " ".join(rest for instruction, rest in last if instruction == "RUN")
    assert not [rest for instruction, rest in last if instruction == "COPY" and "--from=" not in rest], "no source in it"


def test_no_secret_is_built_in(compose: dict[str, Any]) -> None:
    for text in ((ROOT / "Dockerfile").read_text("utf-8"), (ROOT / "docker-compose.yml").read_text("utf-8")):
        assert not re.search(r"(sk-|ghp_)[A-Za-z0-9]{8}|[0-9a-f]{32}", text)
    assert not [
        rest for rest in (*arguments_of("ENV"), *arguments_of("ARG")) if re.search(r"(KEY|PASSWORD|TOKEN|SECRET)", rest)
    ]
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"(KEY|PASSWORD|TOKEN|SECRET|HEADERS)", name):
                assert value is None or value.startswith("${"), f"{name} has a fixed value"


def test_settings_are_those_of_the_server(compose: dict[str, Any]) -> None:
    names = {name for rest in arguments_of("ENV") for name in re.findall(r"(RAG_\w+)=", rest)}
    names |= {name for name in compose["services"]["server"]["environment"] if name.startswith("RAG_")}
    assert names <= ENVIRONMENT
    assert f"RAG_PORT={Settings.port}" in arguments_of("ENV")[-1].split()
    assert arguments_of("EXPOSE") == [str(Settings.port)]


def test_ports_are_local_and_containers_confined(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert "ports" not in services["postgres"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    for name in ("server", "mlflow"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in services[name]["security_opt"]
