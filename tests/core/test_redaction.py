"""Secrets are hidden, other values stay."""

import json
import math

import numpy as np
import pytest

from rag.core.redaction import HIDDEN, redacted_json, redacted_text, secret_rule, without_secrets
from rag.core.secrets.finder import find_secrets


@pytest.mark.parametrize(
    "key", ["api_key", "generator.api-key", "HF_TOKEN", "db.password", "passwd", "client_secret", "Authorization"]
)
def test_values_under_secret_names_are_hidden(key: str) -> None:
    assert redacted_text(key, "hunter2") == HIDDEN
    assert redacted_json({key: "hunter2"}) == {key: HIDDEN}


@pytest.mark.parametrize("key", ["api_key_env", "max_tokens", "token_f1", "tokenizer", "passwordless", "keyed"])
def test_similar_names_stay(key: str) -> None:
    assert redacted_text(key, "OPENAI_API_KEY") == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("https://abcd1234@host/x", "https://[redacted: url-password]@host/x"),
        ("https://abcd1234:@host", "https://[redacted: url-password]@host"),
        ("https://abcdefgh12345678:x-oauth-basic@host", "https://[redacted: url-password]@host"),
        ("https://glpat-aB3dE5gH7jK9mN1pQ3sT@host", "https://[redacted: gitlab-pat]@host"),
        ("ssh://git@host/x.git", "ssh://git@host/x.git"),
        ("http://host:80/a@b", "http://host:80/a@b"),
    ],
)
def test_a_token_in_place_of_a_user_is_hidden(address: str, seen: str) -> None:
    assert redacted_text("dataset.path", f"from {address} it came") == f"from {seen} it came"
    assert without_secrets(redacted_text("", address)) == seen
    assert bool(secret_rule(address)) == (address != seen)
    assert find_secrets("https://bob@host") == [], "documents keep the names of users"


def test_plain_values_survive_json() -> None:
    plain = {"a": (1, np.float64(0.5), np.int64(2)), "b": {"x"}, 3: math.nan, "c": None, "d": True, "e": math.inf}
    seen = redacted_json(plain | {"token": ["t"]})
    assert seen == {"a": [1, 0.5, 2], "b": ["x"], "3": None, "c": None, "d": True, "e": None, "token": [HIDDEN]}
    assert json.loads(json.dumps(seen, allow_nan=False)) == seen
