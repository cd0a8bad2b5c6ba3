"""Keys of services in the forms that documents hold them in: our own development set.

The forms of keys are those of the vendors' documentation, as far as they state one; keys are drawn, none was ever in use.
"""

import random
import re
import re._parser as parser
import string
from collections.abc import Iterator
from functools import lru_cache

from support.generated_secrets import Planted, sample

KEYS = r"""
langsmith lsv2_pt_[0-9a-f]{32}_[0-9a-f]{10}|langsmith lsv2_sk_[0-9a-f]{32}_[0-9a-f]{10}|langsmith ls__[0-9a-f]{32}
pinecone pcsk_[A-Za-z0-9]{6}_[A-Za-z0-9]{63}|tavily tvly-[A-Za-z0-9]{32}|tavily tvly-dev-[A-Za-z0-9]{32}
voyage pa-[A-Za-z0-9_-]{43}|voyage al-[A-Za-z0-9_-]{43}|nvidia nvapi-[A-Za-z0-9_-]{64}|replicate r8_[A-Za-z0-9]{37}
fireworks fw_[A-Za-z0-9]{24}|jina jina_[0-9a-f]{32}[A-Za-z0-9_-]{28}|groq gsk_[A-Za-z0-9]{52}|xai xai-[A-Za-z0-9]{80}
cerebras csk-[a-z0-9]{48}|together tgp_v1_[A-Za-z0-9_-]{43}|openrouter sk-or-v1-[0-9a-f]{64}|deepseek sk-[0-9a-f]{32}
perplexity pplx-[A-Za-z0-9]{48}|anthropic sk-ant-api03-[A-Za-z0-9_-]{93}AA|huggingface hf_[A-Za-z]{34}|langfuse sk-lf-UUID
helicone sk-helicone-[a-z0-9]{7}-[a-z0-9]{7}-[a-z0-9]{7}-[a-z0-9]{7}|llamacloud llx-[A-Za-z0-9]{48}
firecrawl fc-[0-9a-f]{32}|apify apify_api_[A-Za-z0-9]{36}|e2b e2b_[0-9a-f]{40}|runpod rpa_[A-Z0-9]{40}[a-z0-9]{6}
wandb wandb_v1_[A-Za-z0-9]{27}_[A-Za-z0-9]{40}|posthog phx_[A-Za-z0-9]{43}|elevenlabs sk_[0-9a-f]{48}
notion ntn_[A-Za-z0-9]{46}|notion secret_[A-Za-z0-9]{43}|airtable pat[A-Za-z0-9]{14}\.[0-9a-f]{64}
databricks dapi[0-9a-f]{32}|supabase sbp_[0-9a-f]{40}|supabase sb_secret_[A-Za-z0-9_-]{31}|neon napi_[a-z0-9]{64}
aiven AVNS_[A-Za-z0-9_-]{19}|square sq0atp-[A-Za-z0-9_-]{22}|square sq0csp-[A-Za-z0-9_-]{43}|square EAAA[A-Za-z0-9_-]{60}
shippo shippo_live_[0-9a-f]{40}|mailgun key-[0-9a-f]{32}|mailgun [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}
resend re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}|discord [MN][A-Za-z0-9]{25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{38}
telegram [1-9][0-9]{9}:AA[A-Za-z0-9_-]{33}|slack xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}
slack xapp-1-A[A-Z0-9]{10}-[0-9]{13}-[0-9a-f]{64}|slack xoxe-1-[A-Za-z0-9]{146}|azure [A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}
azure [0-9a-f]{32}|azure [A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}==|azure [A-Za-z0-9]{42}AzSe[A-Z][A-Za-z0-9]{5}
azure [A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|azure [A-Za-z0-9]{44}AzFu[A-Za-z0-9_-]{6}==|github ghp_[A-Za-z0-9]{36}
gitlab glpat-[A-Za-z0-9_-]{20}|npm npm_[A-Za-z0-9]{36}|docker dckr_pat_[A-Za-z0-9_-]{27}|nuget oy2[a-z0-9]{43}
crates cio[A-Za-z0-9]{32}|circleci CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}|buildkite bkua_[0-9a-f]{40}
figma figd_[A-Za-z0-9_-]{40}|linear lin_api_[A-Za-z0-9]{40}|clickup pk_[0-9]{8}_[A-Z0-9]{32}
typeform tfp_[A-Za-z0-9_]{40,59}|stripe whsec_[A-Za-z0-9]{32}|razorpay rzp_live_[A-Za-z0-9]{14}
paddle pdl_live_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}|brevo xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}
tailscale tskey-auth-[A-Za-z0-9]{17}-[A-Za-z0-9]{32}|ngrok 2[A-Za-z0-9]{26}_[A-Za-z0-9]{21}|render rnd_[A-Za-z0-9]{28}
netlify nfp_[A-Za-z0-9]{36}|heroku HRKU-[A-Za-z0-9_-]{60}|wakatime waka_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}
contentful CFPAT-[A-Za-z0-9_-]{43}|workos sk_live_[A-Za-z0-9]{40}|sonar sqp_[0-9a-f]{40}
sourcegraph sgp_[0-9a-f]{16}_[0-9a-f]{40}|cohere [A-Za-z0-9]{40}|mistral [A-Za-z0-9]{32}|weaviate [A-Za-z0-9]{36}
qdrant [A-Za-z0-9_-]{48}|unstructured [A-Za-z0-9]{30}|serpapi [0-9a-f]{64}|serper [0-9a-f]{40}|deepgram [0-9a-f]{40}
assemblyai [0-9a-f]{32}|datadog [0-9a-f]{32}|datadog [0-9a-f]{40}|algolia [0-9a-f]{32}|openweather [0-9a-f]{32}
mixpanel [0-9a-f]{32}|zendesk [A-Za-z0-9]{40}|confluent [A-Za-z0-9+/]{64}|pipedrive [0-9a-f]{40}|exa UUID|postmark UUID
freshdesk [A-Za-z0-9]{20}|vercel [A-Za-z0-9]{24}|alchemy [A-Za-z0-9_-]{32}|etherscan [A-Z0-9]{34}|mailjet [0-9a-f]{32}
baseten [A-Za-z0-9]{8}\.[A-Za-z0-9]{32}|vultr [A-Z0-9]{36}|hetzner [A-Za-z0-9]{64}|linode [0-9a-f]{64}
ipstack [0-9a-f]{32}|newsapi [0-9a-f]{32}|rapidapi [a-z0-9]{50}|meilisearch [0-9a-f]{64}|hunter [0-9a-f]{40}
geocodio [0-9a-f]{39}|fixer [A-Za-z0-9]{32}|portkey [A-Za-z0-9+/]{27}=|snowflake [A-Za-z0-9_-]{64}
ghost [0-9a-f]{24}:[0-9a-f]{64}
""".replace("UUID", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""The name of a service and the form of its keys; several for one service."""

FORMS = {
    "env: SERVICE_API_KEY": "DEBUG=1\n{SERVICE}_API_KEY={key}\nPORT=80",
    "env: SERVICE_KEY": "export {SERVICE}_KEY='{key}'",
    "env: SERVICE_X_KEY": "{SERVICE}_OPENAI_KEY={key}\n",
    "env: SERVICE_TOKEN": '{SERVICE}_TOKEN="{key}"',
    "env: SERVICE_PAT": "set {SERVICE}_PAT={key}",
    "env: SERVICE_AUTH": "{SERVICE}_AUTH={key}",
    "env: SERVICE": "{SERVICE}={key}",
    "yaml: service_key": "clients:\n  {service}_key: {key}\n  retries: 3",
    "yaml: nested key": "{service}:\n  url: https://api.{service}.com\n  key: {key}\n  timeout: 30",
    "yaml: nested token": '{service}:\n  token: "{key}"',
    "yaml: service": "keys:\n  {service}: {key}\n",
    "json: SERVICE_KEY": '{{"endpoint": "https://x.{service}.com", "{SERVICE}_KEY": "{key}"}}',
    "json: serviceKey": '{{"{service}Key": "{key}", "n": 1}}',
    "json: nested": '{{"{service}": {{"key": "{key}"}}}}',
    "json: service": '{{"{service}": "{key}"}}',
    "toml": '[{service}]\nkey = "{key}"\n',
    "python: argument": 'client = {Service}(api_key="{key}", timeout=3)',
    "python: call": 'client = {Service}Client("{key}")',
    "python: credential": 'client = SearchClient(url, {Service}KeyCredential("{key}"))',
    "python: assignment": "{service}_key = '{key}'",
    "python: dict": 'os.environ["{SERVICE}_KEY"] = "{key}"',
    "javascript: camel": "const {service}Key = '{key}';",
    "javascript: member": "config.{service}.key = '{key}';",
    "php: define": "define('{SERVICE}_KEY', '{key}');",
    "call: setKey": '{service}.setKey("{key}");',
    "java: properties": "{service}.key={key}\n",
    "xml: element": "<config><{service}Key>{key}</{service}Key></config>",
    "xml: apiKey": "<{service}><apiKey>{key}</apiKey></{service}>",
    "xml: attribute": '<add key="{Service}Key" value="{key}" />',
    "xml: string": '<string name="{service}_key">{key}</string>',
    "xml: property": "<property><name>{service}.key</name><value>{key}</value></property>",
    "xml: plist": "<key>{Service}Key</key>\n\t<string>{key}</string>",
    "xml: jenkins": "<id>{service}</id>\n  <secret>{{{service} AQAAABAAA {key}}}</secret>",
    "xml: jenkins password": "<username>bot</username><password>{{AQAAABAAAAAg{key}}}</password>",
    "header: X-Service-Key": "X-{Service}-Key: {key}",
    "header: Authorization": "Authorization: {Service} {key}",
    "curl: -H": "curl -H 'Authorization: {key}' https://api.{service}.com/v1/x",
    "curl: bearer": 'curl https://api.{service}.com/v1/x -H "Authorization: Bearer {key}"',
    "curl: -u": "curl -u {key}: https://api.{service}.com/v1/x",
    "curl: -u user": 'curl -u "me@x.org:{key}" https://api.{service}.com/v1/x',
    "url: key": "https://api.{service}.com/v1/x?key={key}&page=2",
    "url: apikey": "GET https://api.{service}.com/v1/x?page=2&apikey={key}",
    "url: auth": "https://{service}.com/x?auth={key}",
    "url: user": "https://{key}@api.{service}.com/x",
    "log: Key=": "[INFO] Request to the {service} API\n[DEBUG] Using Key={key}\n[INFO] 200 OK",
    "log: with key": "connecting to {service} with key {key}",
    "prose: key is": "The {service} key is {key}.",
    "prose: service key:": "- {Service} key: `{key}`",
    "text: service token =": "{service} token = '{key}'",
    "text: service =": "{service} = '{key}'",
    "comment": "# {service} key: {key}\n",
    "connection string": "Endpoint=https://{service}.com/;AccessKey={key}",
    "alone": "client.use('{key}')",
}
"""Contexts; `alone` counts only for keys that their form shows."""

BY_SERVICE = ("env: SERVICE", "yaml: service", "json: service", "text: service =")
"""Contexts in which the name of a service alone says that a value is a key: names that are not in the rules are not known."""

PASSWORDS = {
    "redis": "redis://default:{key}@cache.example.com:6379/0",
    "mongodb": "mongodb+srv://app:{key}@cluster0.ab1cd.mongodb.net/x?retryWrites=true",
    "postgresql": "DATABASE_URL=postgresql+psycopg://app:{key}@db:5432/x",
    "jdbc": 'jdbc:mysql://db:3306/x?user=app&password={key}"',
    "jdbc user": "jdbc:oracle:thin:app/{key}@db:1521/x",
    "jdbc sqlserver": "jdbc:sqlserver://db:1433;databaseName=x;user=sa;password={key};encrypt=true",
    "odbc": "Driver={{ODBC Driver 18}};Server=db;Uid=sa;Pwd={key};",
    "libpq": "host=db user=app password={key} dbname=x",
    "ftp": "ftp://me:{key}@files.example.com",
    "basic auth": "curl --user admin:{key} https://x.org",
    "docker": "docker login -u me -p {key} registry.example.com",
}
"""Passwords in connection strings."""


def services() -> list[tuple[str, str]]:
    """The names of services with the forms of their keys."""
    return [(name, form) for name, form in (entry.split(" ") for entry in KEYS.replace("\n", "|").strip("|").split("|"))]


def has_form(pattern: str) -> bool:
    """Whether a key shows in any context whose it is: it has a prefix or a signature."""
    return not re.match(r"\[[^]]+\]\{\d+\}(?:$|[-:.=]|\\\.\[A-Za-z0-9\]\{32)", pattern) or pattern.endswith("-[0-9a-f]{8}")


def planted_services(chance: random.Random, step: int = 1, invented: str = "") -> Iterator[Planted]:
    """A key of every service in every form, of which each `step`-th is taken; with a name, keys without a form of their own.

    The kind is the form of the text, and the context `vendor's form` or `context alone`; `invented` names all services.
    """
    for service, pattern, form in list(product_of_forms(bool(invented)))[::step]:
        name, key = invented or service, drawn(pattern, chance)
        text = FORMS[form].format(key=key, service=name, Service=name.title(), SERVICE=name.upper())
        yield Planted(form, "vendor's form" if has_form(pattern) else "context alone", text, key)
    for form in PASSWORDS if not invented else ():
        for _ in range(max(1, 40 // step)):
            key = "".join(chance.choices(string.ascii_letters + string.digits, k=chance.randint(12, 20)))
            yield Planted(form, "password", PASSWORDS[form].format(key=key), key)


def product_of_forms(is_invented: bool) -> Iterator[tuple[str, str, str]]:
    """Services, forms of keys and forms of texts."""
    for service, pattern in services():
        for form in FORMS:
            if not (is_invented if has_form(pattern) else form == "alone"):
                yield service, pattern, form


CUTS = {
    "an end of line": "\n", "a blank": " ", "a soft hyphen": "\u00ad", "a zero-width space": "\u200b", "a joiner": "\u2060",
    "marks of bold": "**",
}  # fmt: skip
ESCAPES = {"an HTML character": "&#95;", "an escape of Markdown": "\\_"}


def planted_cut(chance: random.Random) -> Iterator[Planted]:
    """A key with a vendor's form of every service, with something in the middle or in place of `_`."""
    for _, pattern in services():
        if has_form(pattern) and not pattern.startswith("["):
            key = drawn(pattern, chance)
            place = chance.randint(len(key) // 3, 2 * len(key) // 3)
            keys = {name: key[:place] + cut + key[place:] for name, cut in CUTS.items()}
            keys |= {name: key.replace("_", escape) for name, escape in ESCAPES.items() if "_" in key}
            for name, cut in keys.items():
                yield Planted(name, "cut", f"The team wrote {cut} in the manual of the product.", cut)


tree = lru_cache(parser.parse)


def drawn(pattern: str, chance: random.Random) -> str:
    """A key of a form, with a digit."""
    while not any(map(str.isdigit, key := sample(tree(pattern), chance, {}))) and "hf_" not in key:
        pass
    return key
