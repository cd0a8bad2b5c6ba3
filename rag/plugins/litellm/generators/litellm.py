"""Answers of models through the package litellm: https://docs.litellm.ai/docs/providers names its variables."""

import logging
import os
import random
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from rag.components.generators.openai import OpenAiGenerator
from rag.core.errors import ServiceError
from rag.core.models.server_keys import QUOTA, asked_wait, is_local
from rag.core.redaction import without_own_secrets, without_secrets

FIELDS = {"frequency_penalty", "presence_penalty", "reasoning_effort", "service_tier", "stop", "thinking", "top_p", "verbosity"}
"""What `extra` may hold: other parameters of LiteLLM choose addresses, accounts, files or tools."""


@dataclass(frozen=True)
class LiteLlmGenerator(OpenAiGenerator):
    """Chat completions through LiteLLM, as `ModelServer` describes; `base_url` is `litellm://PROVIDER`, `model` its model.

    LiteLLM takes addresses, accounts and keys from its own variables and from the identity of the machine, never from a config.
    It follows redirects of a provider. The address in AZURE_API_BASE is part of the identity of a model of Azure.
    """

    base_url: str = "litellm://bedrock"
    api_key_env: None = None

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        if self.url != f"litellm://{self._provider}" or not self._provider.isidentifier() or is_local(self.url):
            yield "base_url", f"is {self.base_url!r}", "write the provider as LiteLLM does, like litellm://vertex_ai"
        if "://" in self.model or self.api_key_env:
            yield "model", "or api_key_env names a server or a key", "LiteLLM takes them from its own variables"
        if other := set(self.extra) - FIELDS:
            yield "extra", f"holds {', '.join(sorted(other))}", f"choose of {', '.join(sorted(FIELDS))}"
        yield from (found for found in super()._problems() if found[0] not in ("base_url", "api_key_env", "extra"))

    def fingerprint(self) -> str:
        """`model@provider`, for Azure with its address."""
        place = without_secrets(os.environ.get("AZURE_API_BASE", "")) if self._provider == "azure" else ""
        return f"{super().fingerprint()}{place and '@'}{place}"

    @property
    def _provider(self) -> str:
        return urlsplit(self.url).netloc

    @cached_property
    def _package(self) -> Any:
        offline = dict.fromkeys(("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"), "True")
        os.environ.update(offline, LITELLM_MODE="PRODUCTION")  # or it downloads tables and reads a file `.env`
        import litellm

        litellm.suppress_debug_info, litellm.telemetry = True, False
        logging.getLogger("LiteLLM").disabled = True  # its lines may hold more than our errors show
        return litellm

    def _parts(self, body: Mapping[str, Any], streamed: bool) -> Generator[Any, None, None]:
        reply = self._completion({**body, "model": f"{self._provider}/{self.model}", "timeout": self.timeout})
        yield from (part.model_dump() for part in (reply if streamed else [reply]))

    def _completion(self, body: Mapping[str, Any]) -> Any:
        """A reply of LiteLLM, whose own retries are not for all providers, and not as `Retry-After` says."""
        import httpx2
        import openai

        for number in range(self.retries + 1):
            try:
                return self._package.completion(**body, max_retries=0, num_retries=0, drop_params=False, caching=False)
            except openai.APIError as error:
                headers = dict(getattr(error, "litellm_response_headers", None) or {})
                error.body = getattr(error, "body", None) or getattr(error.__context__, "body", None) or str(error)
                if isinstance(error, openai.APIStatusError):
                    error.response = httpx2.Response(error.status_code, headers=headers)
                status, wait = getattr(error, "status_code", None) or 500, asked_wait(headers) or 0
                lasts = (status < 500 and status not in (408, 409, 429)) or QUOTA.search(str(error.body)) or wait > 24
                if number == self.retries or lasts:
                    raise
                time.sleep(wait or min(0.5 * 2**number, 8) * random.uniform(0.75, 1))  # noqa: S311

    def _failure(self, what: str, remedy: str) -> ServiceError:
        what = without_own_secrets(what.partition("Traceback (most")[0])
        signed = f"check the variables of {self._provider}: https://docs.litellm.ai/docs/providers"
        return super()._failure(what, signed if "base_url" in remedy or "api_key_env" in remedy else remedy)
