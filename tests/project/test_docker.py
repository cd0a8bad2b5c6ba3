"""The Dockerfile and the compose file follow our rules: pinned, unprivileged, without secrets, local."""

import json
import re
import shlex
from dataclasses import fields
from typing import Any

import pytest
from mlflow import environment_variables
from mlflow.cli import server as mlflow_server
from support.container_files import ROOT, arguments_of, composed, instructions, stages
from typer.main import get_command

from rag.cli.app import app
from rag.serve.settings import Settings, variable_name

ENVIRONMENT = {variable_name(field.name) for field in fields(Settings)}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file."""
    return composed()


def test_instructions_are_known_and_exec_form() -> None:
    known = {"ARG", "FROM", "ENV", "WORKDIR", "RUN", "COPY", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {instruction for instruction, _ in instructions()} <= known
    for rest in (*arguments_of("ENTRYPOINT"), *arguments_of("CMD"), arguments_of("HEALTHCHECK")[0].partition("CMD ")[2]):
        assert all(isinstance(part, str) for part in json.loads(rest))


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


def test_packages_are_those_of_the_lock() -> None:
    hashed, torch, ours = [rest for rest in arguments_of("RUN") if "pip install" in rest]
    assert "--require-hashes --no-deps --requirement requirements.lock" in hashed
    assert "--constraint requirements-torch.lock" in torch
    assert torch.endswith("torch")
    assert "--no-deps" in ours
    assert "pip check" in ours
    assert all("--mount=type=cache,target=/cache" in rest for rest in (hashed, torch, ours)), "no cache in a layer"
    extras = re.search(r"\.\[([\w,]+)\]", ours)
    assert extras
    assert set(extras[1].split(",")) == {"mlflow", "serve", "otel", "postgres", "openai", "faiss", "torch"}, "as in .ci/lock"


def test_copied_files_exist_and_are_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert next(line for line in ignored if line and not line.startswith("#")) == "*", "only listed files are copied"
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = {part for rest in arguments_of("COPY") if "--from=" not in rest for part in rest.split()[:-1]}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


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


def test_required_variables_stop_compose_where_they_are_missing(compose: dict[str, Any]) -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    for name in ("RAG_API_KEYS", "POSTGRES_PASSWORD"):
        assert f"${{{name}:?" in text, "compose reports it before anything starts"


def test_ports_are_local_and_containers_confined(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert "ports" not in services["postgres"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    for name in ("server", "mlflow"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in services[name]["security_opt"]


def test_dependencies_volumes_and_configs_exist(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        for other, wanted in service.get("depends_on", {}).items():
            assert wanted["condition"] == "service_healthy"
            assert "healthcheck" in services[other]
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source.startswith("./") or source in compose["volumes"]
        for config in service.get("configs", ()):
            assert config["source"] in compose["configs"]


def test_no_service_takes_all_memory(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert re.fullmatch(r"(\$\{RAG_MEMORY:-)?[1-9]g\}?", service["mem_limit"]), name


def test_compose_waits_for_running_requests(compose: dict[str, Any]) -> None:
    grace = compose["services"]["server"]["stop_grace_period"]
    assert float(grace.removesuffix("s")) > Settings.timeout + 1


def test_options_are_known(compose: dict[str, Any]) -> None:
    serve = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    options = {option for parameter in serve.params for option in parameter.opts}
    for command in (json.loads(arguments_of("CMD")[0]), compose["services"]["server"]["command"]):
        assert command[0] == "serve"
        assert {part for part in command[1:] if part.startswith("-")} <= options
    options = {option for parameter in mlflow_server.params for option in parameter.opts}
    assert {part for part in compose["services"]["mlflow"]["command"] if part.startswith("-")} <= options
    variables = {parameter.envvar for parameter in mlflow_server.params if getattr(parameter, "envvar", None)}
    variables |= set(vars(environment_variables))
    assert set(compose["services"]["mlflow"]["environment"]) <= variables


def test_the_databases_are_made(compose: dict[str, Any]) -> None:
    postgres_of = compose["services"]["postgres"]
    script = compose["configs"]["databases"]["content"]
    user = postgres_of["environment"]["POSTGRES_USER"]
    made = {postgres_of["environment"]["POSTGRES_DB"], *re.findall(r"CREATE DATABASE (\w+)", script)}
    for service in ("server", "mlflow"):
        for value in compose["services"][service]["environment"].values():
            if value and value.startswith("postgresql"):
                known, _, name = value.partition("@postgres/")
                assert name in made
                assert f"//{user}:" in known
    assert shlex.split(script.rstrip(";"))[-1] == user
    assert postgres_of["healthcheck"]["test"][-1] in made
