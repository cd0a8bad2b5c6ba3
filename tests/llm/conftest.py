"""The real model that `make test-llm` talks to: one with OpenAI's chat completions behind OPENAI_BASE_URL."""

import os

import pytest

from rag.components.generators.openai import OpenAiGenerator


@pytest.fixture(scope="session")
def base_url() -> str:
    """The address of the model; these tests were asked for, so they do not pass without one."""
    url = os.environ.get("OPENAI_BASE_URL", "")
    if not url:
        pytest.fail("OPENAI_BASE_URL is not set: start a model and export it, e.g. http://127.0.0.1:8081/v1", pytrace=False)
    return url


@pytest.fixture
def model(base_url: str) -> OpenAiGenerator:
    """A generator of short replies."""
    return OpenAiGenerator(os.environ.get("OPENAI_MODEL", "local"), base_url, max_tokens=24, concurrency=1, timeout=300.0)
