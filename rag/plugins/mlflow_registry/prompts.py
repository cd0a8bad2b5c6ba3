"""The prompt of a bundle as a prompt of MLflow, and a prompt of MLflow as a choice of `conf/prompt`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rag.bundle.open_bundle import Bundle
from rag.components.prompts.sections import PLACEHOLDERS, WORDS, SectionPrompt
from rag.core.errors import DataError
from rag.core.files import replace_text
from rag.core.redaction import redacted_json
from rag.core.roles import is_costly
from rag.plugins.mlflow_registry.service import found_or_none, registry

if TYPE_CHECKING:
    from mlflow import MlflowClient

VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}|\{(\w+)\}")


def register_prompt(client: "MlflowClient", bundle: Bundle, model: str, tags: dict[str, str]) -> Any:
    """The version of the prompt MODEL-prompt with the text of a bundle's prompt, made if there is none.

    None for a bundle in which no model reads the prompt.
    """
    prompt, name = bundle.pipeline.reading.prompt, re.sub(r"[^A-Za-z0-9_.-]", "_", f"{model}-prompt")
    if not isinstance(prompt, SectionPrompt) or not is_costly(bundle.pipeline.generator):
        return None
    template = redacted_json(chat_template(prompt))
    known = found_or_none(client.search_prompt_versions, name) or ()
    words = {f"assay.{word}": getattr(prompt, word) for word in WORDS if prompt._names(word)}
    return next((each for each in known if each.template == template), None) or client.register_prompt(
        name, template, tags=tags | words
    )


def chat_template(prompt: SectionPrompt) -> list[dict[str, str]]:
    """The messages of a prompt in MLflow's form: `{{contexts}}`, `{{question}}` and others are variables, words filled in."""
    shown = {name: f"{{{{{name}}}}}" if prompt._names(name) else prompt.nothing for name in PLACEHOLDERS}
    values = shown | {"project": prompt.project or prompt.nothing} | {word: getattr(prompt, word) for word in WORDS}
    texts = {role: prompt._message(values, (), role == "system") for role in ("system", "user")}
    return [{"role": role, "content": text} for role, text in texts.items() if text]


def write_choice(uri: str, path: Path) -> None:
    """Write the prompt at `prompts:/NAME/VERSION` as a YAML of `conf/prompt`.

    DataError for one with other messages than a system message and one of the user, ServiceError if MLflow cannot give it.
    """
    with registry(f"write_choice({uri!r}, …)") as client:
        found = client.load_prompt(uri, cache_ttl_seconds=0)
    template = [{"role": "user", "content": found.template}] if isinstance(found.template, str) else found.template
    if [each["role"] for each in template] not in (["user"], ["system", "user"]):
        raise DataError(uri, "has other messages than one of the system and one of the user", "leave these two")
    texts = ["", *(VARIABLE.sub(_braced, each["content"]) for each in template)]
    words = {word: text for word in WORDS if (text := found.tags.get(f"assay.{word}"))}
    for word, said in words.items():
        texts = [text.replace(said, f"{{{word}}}") for text in texts]
    target = f"{SectionPrompt.__module__}.{SectionPrompt.__qualname__}"
    content = {"defaults": ["/prompting@_here_", "_self_"], "_target_": target, "role": texts[-2], "instruction": texts[-1]}
    text = yaml.safe_dump(content | words | {"system": ["role"]}, sort_keys=False, allow_unicode=True, width=120)
    replace_text(path, f"# {uri} in MLflow\n{text}")


def _braced(found: re.Match[str]) -> str:
    return f"{{{found[1]}}}" if found[1] else f"{{{{{found[2]}}}}}"
