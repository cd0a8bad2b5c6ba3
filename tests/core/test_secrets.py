"""Secrets are found by form and by name; labels, placeholders and plain texts stay."""

import os
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.found_secrets import examples_by_rule, is_found, lookalikes
from support.generated_secrets import planted_broken, planted_names, planted_shapes
from support.service_secrets import BY_SERVICE, CUTS, ESCAPES, planted_cut, planted_services

from rag.core.secrets.finder import find_secrets
from rag.core.secrets.places import Find, merged, replaced
from rag.core.secrets.shapes import FILES, rule_tables, shape_rules

ROOT = Path(__file__).parents[2]
LITERALS = Path(os.environ.get("RAG_DATA", "/nowhere")) / "gitleaks-literals" / "literals.jsonl"
BY_NAME = "[redacted: secret-by-name]"
HEX = "57d2de35873840b5ad59d742e90e974e"


def redacted(text: str) -> str:
    return replaced(text, [find[:3] for find in find_secrets(text)])


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("password: ", "hunter2", ""),
        ("password: ", "swordfish", "\nuser: bob"),
        ("DB_PASSWORD=", "correcthorse", "\nDB_HOST=db"),
        ('api_key = "', "abcd1234efgh", '"'),
        ('{"client_secret": "', "s3cr3tValue99", '", "user": "bob"}'),
        ('{\\"token\\": \\"', "abcdef123456", '\\"}'),
        ("tool --password ", "hunter22", " --host x"),
        ("<password>", "hunter2", "</password>"),
        ('<add key="DbPassword" value="', "Sommer2024!", '"/>'),
        ("- name: DB_PASSWORD\n  value: ", "sup3rS3cret", ""),
        ("The password for the staging database is ", "Winter2023", "."),
        ("| password | ", "hunter2", " |"),
        ("| user | password |\n|---|---|\n| bob | ", "swordfish", " |"),
        ("https://x.org/?user=me&token=", "abcdef123456", "&page=2"),
        ("Passwort: ", "Geheim123", ""),
        ("naïve ☂ password: ", "hünter2ß", " ☂"),
        ('"AZURE_OPENAI_KEY": "', HEX, '"'),
        ("azure:\n  openai_key: ", HEX, "\n"),
        ("export AZURE_OPENAI_KEY=", HEX, ""),
        ("qdrant: ", HEX, "\n"),
        ('client = CohereClient("', HEX, '")'),
        ("<name>search.key</name>\n  <value>", HEX, "</value>"),
        ("Authorization: Acme ", HEX, ""),
        ("connecting with key ", HEX, ""),
    ],
)
def test_the_value_goes_and_the_label_stays(before: str, value: str, after: str) -> None:
    assert redacted(before + value + after) == before + BY_NAME + after


@pytest.mark.parametrize(
    "text",
    [
        *("password: <your-password>", "token: ${TOKEN}", "token: {{ token }}", "password=changeme", "api_key: xxxxxxxx"),
        *("secret: ********", "token: str = None", "token = tokenizer.encode(text)", "password = getpass.getpass()"),
        *('api_key=os.environ["API_KEY"]', "password=self.password", "Password: required", "The token is a string."),
        *("compass: north1234", "max_tokens: 4096", "private_key: /etc/ssl/key.pem", "secret: https://vault.example.com/ui"),
        *("the secret: Kubernetes keeps it", "token: 2024-10-11", "access_token_url=https://github.com/login/oauth"),
        *("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "AKIAIOSFODNN7EXAMPLE", "http://host:80/a@b"),
        *("id: 3fa85f64-5717-4562-b3fc-2c963f66afa6", "| token | meaning |\n|---|---|\n| string | a word |"),
        *(
            f"cache_key: {HEX}",
            "key: application-v2-config-2024",
            f"openai: sha256-{HEX}",
            "facebook: https://x.com/a1b2c3d4e5f6g7h8",
        ),
        *("<secret>{your key}</secret>", "key: user_12_item_3_group_4", "sk-learn 3fa85f64-5717-4562"),
        "emoji 👩\u200d💻 and a\u00adb",
        *("password: [redacted: secret-by-name]", "| [redacted: slack-bot-token] | server0123 |"),
        "[redacted: adafruit-api-key]: abcdefghij0123456789abcdefghij12",
    ],
)
def test_placeholders_descriptions_and_code_stay(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("postgresql://me:p%40ss@db/x", "postgresql://me:[redacted: url-password]@db/x"),
        ("Use glpat-aB3dE5gH7jK9mN1pQ3sT, please.", "Use [redacted: gitlab-pat], please."),
        ("the key sk-proj-abcd1234efgh\n5678ijkl9012 is cut", "the key [redacted: provider-key] is cut"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq83vEjRWeJq",
            "-----BEGIN RSA PRIVATE KEY-----\n[redacted: private-key-part]",
        ),
        ("<secret>{jira AQAAABAAA 3f9c1b7a}</secret>", "<secret>{[redacted: jenkins-secret]}</secret>"),
        ("jdbc:oracle:thin:app/t1ger@db:1521/x", "jdbc:oracle:thin:app/[redacted: oracle-jdbc]@db:1521/x"),
        ("key sk-proj-abcd1234efgh 5678ijkl9012 is cut", "key [redacted: provider-key] is cut"),
        ("sk-proj-abcd1234\u00adefgh5678\u200bijkl9012", "[redacted: provider-key]"),
        ("ghp&#95;aB3dE5gH7jK9mN1pQ3sT**aB3dE5gH7jK9mN1p.", "[redacted: github-pat]."),
        ("password: $2b$12$abcdefghijklmnopqrstuuJ8tQZ0K1e9PX", "password: [redacted: password-hash]"),
    ],
)
def test_values_are_found_by_form_and_named_by_rule(text: str, seen: str) -> None:
    assert redacted(text) == seen


def test_overlapping_finds_become_one_under_the_rule_of_the_lowest_rank() -> None:
    finds = [Find(0, 4, "name", 2), Find(3, 9, "shape", 0), Find(9, 12, "next", 1), Find(10, 11, "inner", 0)]
    assert merged(finds) == [Find(0, 9, "shape", 0), Find(9, 12, "inner", 0)]


PIECES = [
    "password", "token=", ": ", "=", "\"", "'", "`", "\n", " ", "|", "hunter2", "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6",
    "[redacted: x]", "]", "[redacted: ", "ghp_", "aB3dE5gH7jK9mN1pQ3sTaB3dE5gH7jK9mN1p", "://u:", "@h", "is ", "é", "--",
    "<", ">", "-----BEGIN PRIVATE KEY-----",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_finds_are_ordered_and_a_second_redaction_finds_nothing(text: str) -> None:
    finds = find_secrets(text)
    assert all(0 <= find.start < find.end <= len(text) for find in finds)
    assert all(first.end <= second.start for first, second in pairwise(finds))
    assert find_secrets(redacted(text)) == []


def test_recall_of_generated_secrets() -> None:
    chance = random.Random(11)
    seen = [*planted_shapes(chance, 2), *planted_names(chance, 2), *planted_broken(chance, 1)]
    assert len(seen) >= 600
    assert len({planted.kind for planted in seen}) >= 270
    assert sum(map(is_found, seen)) >= 0.98 * len(seen)


def test_recall_of_keys_of_services() -> None:
    chance = random.Random(12)
    seen = list(planted_services(chance, step=17))
    assert len(seen) > 350
    assert sum(map(is_found, seen)) >= 0.98 * len(seen)
    unknown = [each for each in planted_services(chance, 13, "acmebird") if each.kind not in BY_SERVICE]
    assert len(unknown) > 100
    assert sum(map(is_found, unknown)) >= 0.97 * len(unknown)


def test_a_cut_key_goes_whole() -> None:
    counts, found = Counter[str](), Counter[str]()
    for planted in planted_cut(random.Random(13)):
        before, after = planted.text.split(planted.secret)
        counts[planted.kind] += 1
        found[planted.kind] += (
            re.fullmatch(re.escape(before) + r"\[redacted: [\w-]+\]" + re.escape(after), redacted(planted.text)) is not None
        )
    assert counts.keys() == {*CUTS, *ESCAPES}
    assert all(found[kind] >= (0.9 if kind == "a blank" else 0.97) * count for kind, count in counts.items()), found


def test_clean_lines_stay() -> None:
    chance = random.Random(5)
    lines = [line for path in sorted((ROOT / "rag").rglob("*.py"))[::9] for line in path.read_text("utf-8").splitlines()]
    lines += [
        line for path in sorted((ROOT / "datasets" / "handbook").rglob("*.md")) for line in path.read_text("utf-8").splitlines()
    ]
    lines += [f"- {chance.getrandbits(160):040x} Fix the tokens" for _ in range(100)]
    lines += [line for alike in lookalikes(chance, 100, 100, 50, 100).values() for line in alike]
    changed = [line for line in lines if find_secrets(line)]
    assert len(lines) > 3000
    assert len(changed) <= 0.005 * len(lines), changed


def test_every_rule_of_gitleaks_is_used_or_named_as_left_out() -> None:
    published = {rule["id"] for rule in rule_tables()[FILES[0]]["rules"]}
    used = {rule.name for rule in shape_rules().rules if rule.pattern.groups >= 0}
    assert published - used == {"pkcs12-file"}
    lists = [each for rule in rule_tables()[FILES[0]]["rules"] for each in rule.get("allowlists", ())]
    both = [each for each in lists if each.get("condition") == "AND" and {"regexes", "stopwords"} <= each.keys()]
    assert not both, "patterns of a list are alternatives"
    assert "Permission is hereby granted" in (ROOT / "conf" / "redaction" / "gitleaks.LICENSE").read_text("utf-8")


def test_patterns_of_lines_have_no_anchors() -> None:
    """`ShapeRule.places` looks for them in the whole text first."""
    lists = [rule.allowed["line"] for rule in shape_rules().rules if "line" in rule.allowed]
    assert lists
    assert not any(re.search(r"\\[bBAzZ]|\^|\$", re.sub(r"\[\^", "[", each)) for each in lists)


@pytest.mark.skipif(not LITERALS.is_file(), reason="RAG_DATA has no gitleaks-literals")
def test_the_examples_of_gitleaks() -> None:
    known, counts = {rule.name for rule in shape_rules().rules}, Counter[tuple[bool, bool]]()
    for rule, examples in examples_by_rule(LITERALS).items():
        counts += examples if rule in known else Counter()
    assert counts[True, True] > 200
    assert counts[True, False] == 0
    assert counts[False, True] <= 4
