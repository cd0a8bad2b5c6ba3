"""Secrets drawn from patterns, and texts around them. It shares no code with the finder: it reads Go's syntax with `re`."""

import hashlib
import json
import math
import random
import re
import re._constants as node
import re._parser as parser
import string
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

CONF = Path(__file__).parents[2] / "conf" / "redaction"
PRINTABLE = string.ascii_letters + string.digits + "!#$%&+-./:=?@^_~"
WORDS = [
    "the", "report", "lists", "every", "service", "of",
    "our", "team", "and", "its", "owner", "please", "keep", "it", "safe",
]  # fmt: skip


class Planted(NamedTuple):
    """A secret of a kind in a text, in a context such as `yaml`."""

    kind: str
    context: str
    text: str
    secret: str

    @property
    def held_back(self) -> bool:
        """Half of all, by hash: never looked at while rules were made."""
        return hashlib.sha256(f"{self.kind} {self.context} {self.secret}".encode()).digest()[0] % 2 == 1


def python_pattern(regex: str) -> str:
    """A pattern of Go in Python's syntax; letter case is as written."""
    regex = re.sub(r"\(\?-?[is]+(:|\))", lambda match: "(?:" if match[1] == ":" else "", regex)
    return regex.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[a-zA-Z0-9]")


def sample(tree: Any, chance: random.Random, groups: dict[int, str]) -> str:
    """A text that matches a syntax tree; `groups` receives the texts of its groups."""
    return "".join(_piece(kind, value, chance, groups) for kind, value in tree)


def _piece(kind: Any, value: Any, chance: random.Random, groups: dict[int, str]) -> str:
    if kind is node.LITERAL:
        return chr(value)
    if kind is node.IN:
        return _member(value, chance)
    if kind is node.ANY:
        return "."
    if kind is node.NOT_LITERAL:
        return chance.choice([each for each in PRINTABLE if ord(each) != value])
    if kind is node.BRANCH:
        return sample(chance.choice(value[1]), chance, groups)
    if kind in (node.MAX_REPEAT, node.MIN_REPEAT):
        least, most, inner = value
        count = chance.randint(least, min(int(most), least + 6))
        if list(inner) == [(node.ANY, None)]:
            return "".join(chance.choices(string.ascii_letters + string.digits, k=count))
        return "".join(sample(inner, chance, groups) for _ in range(count))
    if kind is node.SUBPATTERN:
        text = sample(value[3], chance, groups)
        if value[0]:
            groups[value[0]] = text
        return text
    return ""  # an edge


def _member(parts: Any, chance: random.Random) -> str:
    allowed: list[str] = []
    for kind, value in parts:
        if kind is node.LITERAL:
            allowed.append(chr(value))
        elif kind is node.RANGE:
            allowed += map(chr, range(value[0], value[1] + 1))
        elif kind is node.CATEGORY:
            allowed += {
                node.CATEGORY_DIGIT: string.digits,
                node.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
                node.CATEGORY_SPACE: " ",
            }.get(value, string.ascii_letters + string.digits)
    if parts[0][0] is node.NEGATE:
        allowed = [each for each in string.ascii_letters + string.digits if each not in allowed] or [" "]
    return chance.choice(allowed)


def entropy(text: str) -> float:
    """Shannon's entropy in bits."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def rules() -> list[dict[str, Any]]:
    """The rules of gitleaks that have a pattern, but for the catch-all and those for whole files of one format."""
    left = ("generic-api-key", "kubernetes-secret-yaml", "curl-auth-user", "curl-auth-header")
    content = tomllib.loads((CONF / "gitleaks.toml").read_text("utf-8"))
    return [rule for rule in content["rules"] if "regex" in rule and rule["id"] not in left]


def shaped(rule: dict[str, Any], chance: random.Random) -> tuple[str, str, bool]:
    """A match of a rule, its secret, and whether the secret is found without the rest; above the entropy of the rule."""
    tree = parser.parse(python_pattern(rule["regex"]))
    for _ in range(400):
        groups: dict[int, str] = {}
        whole = sample(tree, chance, groups)
        secret = groups.get(rule.get("secretGroup", 0)) or next(
            (groups[each] for each in sorted(groups) if groups[each]), whole
        )
        if entropy(secret) > rule.get("entropy", 0) and secret:
            alone = whole.strip(" '\"`;\n\r\t").removesuffix("\\n").removesuffix("\\r") == secret
            return whole, secret, alone
    raise AssertionError(rule["id"])


def _broken(secret: str, chance: random.Random) -> str:
    place = chance.randint(len(secret) // 3, 2 * len(secret) // 3)
    return f"{secret[:place]}\n{secret[place:]}"


def _with_keyword(rule: dict[str, Any], text: str) -> str:
    """A text that holds a keyword of the rule, which it demands beside its pattern."""
    return (
        text
        if any(word.lower() in text.lower().replace("\n", "") for word in rule["keywords"])
        else f"{rule['keywords'][0]}\n{text}"
    )


def _prose(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(3, 9)))


ALONE: dict[str, Callable[[str, random.Random], str]] = {
    "code": lambda secret, chance: f'client = Client("{secret}", retries={chance.randint(1, 9)})',
    "yaml": lambda secret, chance: f"service:\n  port: {chance.randint(80, 9000)}\n  value: {secret}\n  debug: false",
    "json": lambda secret, chance: json.dumps({"id": chance.randint(1, 99), "value": secret, "note": _prose(chance)}),
    "env": lambda secret, chance: f"HOST=db\nVALUE={secret}\nPORT={chance.randint(80, 9000)}",
    "prose": lambda secret, chance: f"{_prose(chance).capitalize()} {secret}. {_prose(chance).capitalize()}.",
    "list": lambda secret, chance: f"- {_prose(chance)}, {secret}, {_prose(chance)}",
    "table": lambda secret, chance: f"| name | value |\n| --- | --- |\n| {_prose(chance)} | {secret} |",
    "brackets": lambda secret, chance: f"{_prose(chance)} ({secret}) {_prose(chance)}",
    "ticks": lambda secret, chance: f"{_prose(chance)} `{secret}` {_prose(chance)}",
    "query": lambda secret, chance: f"https://api.example.com/v1/items?value={secret}&page={chance.randint(1, 99)}",
    "log": lambda secret, chance: f"2026-01-{chance.randint(10, 28)} 10:00:00 INFO sent value={secret} status=200",
}
"""Contexts of a secret that its form alone shows."""


def planted_shapes(chance: random.Random, each: int) -> Iterator[Planted]:
    """`each` texts of every rule of gitleaks: bare secrets in contexts, and whole matches where the rule needs a name."""
    for rule in rules():
        for _ in range(each):
            whole, secret, alone = shaped(rule, chance)
            if not alone or "\n" in secret or " " in secret:
                yield Planted(rule["id"], "match", f"{_prose(chance)}\n{whole}\n{_prose(chance)}", secret)
                continue
            context = chance.choice(list(ALONE))
            yield Planted(rule["id"], context, _with_keyword(rule, ALONE[context](secret, chance)), secret)


def planted_broken(chance: random.Random, each: int) -> Iterator[Planted]:
    """Secrets that an end of line cuts in two, as a PDF reader gives them."""
    for rule in rules():
        _, secret, alone = shaped(rule, chance)
        for _ in range(each if alone and len(secret) >= 24 and " " not in secret and "\n" not in secret else 0):
            secret = shaped(rule, chance)[1]
            text = _broken(secret, chance)
            yield Planted(rule["id"], "broken", _with_keyword(rule, f"{_prose(chance)} {text} {_prose(chance)}"), text)


def _password(chance: random.Random) -> str:
    word = chance.choice(["Sommer", "hunter", "Tr0ub4dor", "letmein", "dragon", "Winter", "qwerty", "Pa55word", "monkey"])
    return word + chance.choice(["", "-", "_", "#", "!"]) + str(chance.randint(10, 9999)) + chance.choice(["", "!", "$", "x"])


def _token(chance: random.Random) -> str:
    alphabet = chance.choice(
        [string.hexdigits.lower()[:16], string.ascii_lowercase + string.digits, string.ascii_letters + string.digits]
    )
    return "".join(chance.choices(alphabet, k=chance.randint(16, 48)))


PASSWORD_NAMES = [
    "password", "PASSWORD", "db_password", "DB_PASS", "adminPassword",
    "Passwort", "passwd", "smtp.password", "user-password", "pwd",
]  # fmt: skip
TOKEN_NAMES = ("api_key", "API_KEY", "apiKey", "client_secret", "access_token", "auth-token", "SECRET_KEY", "API key")
TOKEN_NAMES += ("aws_secret_access_key", "private_token")

NAMED: dict[str, str] = {
    "env": "DEBUG=1\n{name}={value}\nPORT=80",
    "export": "export {name}={value}",
    "yaml": "db:\n  {name}: {value}\n  port: 5432",
    "yaml quoted": "db:\n  {name}: '{value}'",
    "json": '{{"host": "db", "{name}": "{value}", "port": 1}}',
    "json in json": '{{"message": "{{\\"{name}\\": \\"{value}\\"}}"}}',
    "ini": "[db]\n{name} = {value}\nhost = db",
    "python": 'connect(host="db", {name}="{value}")',
    "javascript": "const config = {{ {name}: '{value}' }};",
    "go": '{name} := "{value}"',
    "flag": "tool run --{name} {value} --verbose",
    "flag=": "tool run --{name}={value} --verbose",
    "query": "https://x.org/login?user=me&{name}={value}&page=2",
    "connection": "Server=db;Database=x;Uid=sa;{name}={value};Encrypt=true",
    "xml": "<user><name>bob</name><{name}>{value}</{name}></user>",
    "xml attribute": '<add key="{name}" value="{value}" />',
    "kubernetes": "env:\n- name: {name}\n  value: {value}",
    "markdown": "- **{name}:** `{value}`",
    "cell": "| host | db |\n| {name} | {value} |",
    "column": "| user | {name} |\n|---|---|\n| bob | {value} |",
    "prose": "Log in with the account of the team; the {name} is {value}.",
    "prose for": "The {name} for the staging server is {value}, as always.",
    "prose colon": "Use bob, {name}: {value}, and wait.",
    "next line": "{name}:\n  {value}\nthen wait",
    "header": "curl -H 'X-{name}: {value}' https://x.org",
}
"""Contexts of a secret that the name before it shows."""

URLS = {
    "postgres url": "postgresql://app:{value}@db.internal:5432/app",
    "mongodb url": "mongodb+srv://root:{value}@cluster0.mongodb.net/x?retryWrites=true",
    "redis url": "redis://:{value}@cache:6379/0",
    "amqp url": "amqps://svc:{value}@mq.example.com/vhost",
    "https userinfo": "https://bob:{value}@git.example.com/x.git",
    "jdbc": "jdbc:postgresql://db:5432/x?user=app&password={value}",
    "smtp url": "smtp://mailer:{value}@smtp.example.com:587",
}
HEADERS = {
    "bearer": "Authorization: Bearer {value}",
    "basic": "Authorization: Basic {value}",
    "bearer in code": 'headers = {{"Authorization": "Bearer {value}"}}',
    "api key header": "X-API-Key: {value}",
    "account key": "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={value}==;EndpointSuffix=core.windows.net",
    "sas url": "https://x.blob.core.windows.net/c?sv=2022&sig={value}%3D&se=2030",
    "npmrc": "//registry.npmjs.org/:_authToken={value}",
}


def planted_names(chance: random.Random, each: int) -> Iterator[Planted]:
    """`each` passwords and tokens in every context with a name, in addresses and in headers."""
    for context, form in NAMED.items():
        for kind, names, value in (("password", PASSWORD_NAMES, _password), ("token", TOKEN_NAMES, _token)):
            for _ in range(each):
                name, secret = chance.choice(names), value(chance)
                name = (
                    name.replace(" ", "_") if context not in ("markdown", "cell", "column") and "prose" not in context else name
                )
                yield Planted(f"{kind}: {context}", context, form.format(name=name, value=secret), secret)
    for context, form in (*URLS.items(), *HEADERS.items()):
        for _ in range(each):
            secret = (_password if context in URLS else _token)(chance)
            yield Planted(context, context, f"{_prose(chance)}\n{form.format(value=secret)}\n{_prose(chance)}", secret)
