"""The laws of redactors, for every choice in conf, and what each kind of personal data is and is not."""

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import build, choices, node

from rag.core.errors import ConfigError, MissingExtraError
from rag.core.roles import Redactor
from rag.core.secrets.places import replaced
from rag.plugins.redaction.redactors.personal import kind_names

HAS_PRESIDIO = importlib.util.find_spec("presidio_analyzer") is not None
OWN = [name for name in choices("redactor") if name != "presidio"]
PIECES = [
    "jane@mail.example.org", "info@x.org", "+44 20 7946 0958", "4111 1111 1111 1111", "GB33BUKB20201555555555",
    "8.8.8.200", "tel ", "born ", "078-05-1121", "password: hunter2", " ", "\n", "(", "-", "1.2.2003",
    "[redacted: email]", "x", "ssn 078051120", "☎ ", "1",
]  # fmt: skip


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_finds_are_ordered_apart_and_gone_after_a_redaction(name: str, text: str) -> None:
    redactor = build("redactor", name)
    assert isinstance(redactor, Redactor)
    found = redactor.find(text)
    assert redactor.find(text) == found
    edges = [edge for start, end, _ in found for edge in (start, end)]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    assert not redactor.find(replaced(text, found))


FOUND = {
    "email": ["jane.roe@mail.example.org", "j_d+x@x.co.uk"],
    "phone": ["+44 20 7946 0958", "+49 30 901820", "call 555-123-4567", "(212) 555-0182", "Tel. 030 901820"],
    "credit-card": [
        *("4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009", "4012888888881", "3530111333300000"),
        *("213102345678905", "1800 1234 5678 905", "501809876540", "6763 4598 2133", "060419873454", "6200000000000000000"),
    ],
    "iban": ["GB33BUKB20201555555555", "DE89 3704 0044 0532 0130 00", "gb33bukb20201555555555"],
    "ip-address": ["8.8.8.200", "2001:4860:4860:0:0:0:0:8888"],
    "mac-address": ["00:1A:2b:3C:4d:5E"],
    "us-ssn": ["536-90-4399", "SSN 536904399"],
    "us-itin": ["ITIN 900-70-1234"],
    "driving-licence": ["driver's license number is A1234567"],
    "passport": ["passport no. 912803456"],
    "date-of-birth": ["born on 4 May 1979", "DOB: 04/05/1979", "date of birth 1979-05-04"],
    "uk-nino": ["QQ 12 34 56 C".replace("QQ", "AB")],
    "uk-nhs": ["NHS number 943 476 5919"],
    "de-tax-id": ["Steuer-ID 36 574 261 809"],
    "fr-nir": ["2 95 10 99 126 111 93"],
    "es-nif": ["54362315K"],
    "it-fiscal-code": ["RCCMNL83S18D969H"],
    "nl-bsn": ["BSN 111222333"],
    "pl-pesel": ["PESEL 44051401359"],
    "se-personal-number": ["880320-0016"],
    "fi-personal-code": ["131052-308T"],
    "br-cpf": ["390.533.447-05"],
    "in-aadhaar": ["Aadhaar 2341 2341 2346"],
    "in-pan": ["ACUPA7085R"],
    "ca-sin": ["social insurance 123-456-782"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
def test_a_kind_is_found_under_its_name(kind: str, text: str) -> None:
    assert [rule for _, _, rule in build("redactor", "secrets_and_personal").find(text)] == [kind]


def test_every_kind_has_an_example() -> None:
    assert FOUND.keys() == {*kind_names()} == {*node("redactor", "secrets_and_personal")["kinds"]}


@pytest.mark.parametrize(
    "text",
    [
        *("info@x.org", "Support+uk@x.org", "+1 800 555 0199", "0800 1111", "127.0.0.1", "192.168.0.77", "10.1.2.3", "a@b"),
        *(
            "version 4.10.4.1",
            "section 3.2.1.4",
            "4111 1111 1111 1112",
            "GB34BUKB20201555555555",
            "401288888883",
            "ISBN 978-3-16-148410-0",
        ),
        *("2026-11-23 10:00:00", "1,234,567.89", "in 2019-2020", "12 345 678", "@decorator", "666-12-1234", "3.14159265358979"),
    ],
)
def test_functions_services_private_addresses_and_other_numbers_stay(text: str) -> None:
    assert build("redactor", "secrets_and_personal").find(text) == []


def test_own_domains_given_values_and_kinds_left_out_stay() -> None:
    text = "jane@acme.org jane@eu.acme.org jane@notacme.org +44 20 7946 0958 8.8.8.200"
    kinds = [kind for kind in kind_names() if kind != "ip-address"]
    policy = {"keep_domains": ["acme.org"], "keep_values": ["+44 20 7946 0958"], "kinds": kinds}
    found = build("redactor", "secrets_and_personal", **policy).find(text)
    assert [text[start:end] for start, end, _ in found] == ["jane@notacme.org"]


def test_rules_can_be_left_out_and_unknown_names_are_refused() -> None:
    assert build("redactor", "secrets", skip=["secret-by-name"]).find("password: hunter2") == []
    with pytest.raises(ConfigError, match="gitlab-pat"):
        build("redactor", "secrets", skip=["gitlab-pta"])
    with pytest.raises(ConfigError, match="e-mail"):
        build("redactor", "secrets_and_personal", kinds=["e-mail"])


@pytest.mark.skipif(HAS_PRESIDIO, reason="presidio-analyzer is installed")
def test_presidio_needs_its_extra() -> None:
    with pytest.raises(MissingExtraError, match="presidio"):
        build("redactor", "presidio").find("Jane Roe")


@pytest.mark.skipif(not HAS_PRESIDIO, reason="presidio-analyzer is not installed")
def test_presidio_finds_by_its_patterns_and_by_our_rules() -> None:
    redactor = build("redactor", "presidio", keep_domains=["acme.org"])
    text = "password: hunter2, jane@mail.example.org, jane@acme.org, 4111 1111 1111 1111"
    assert [rule for _, _, rule in redactor.find(text)] == ["secret-by-name", "email-address", "credit-card"]
    assert not redactor.find(replaced(text, redactor.find(text)))
    with pytest.raises(ConfigError, match="en_no_such_model"):
        build("redactor", "presidio", spacy_model="en_no_such_model").find("x")
