"""The keys of model servers: read from the environment when they are needed, and shown nowhere."""

import ipaddress
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from rag.core.errors import ConfigError, ServiceError

OFFICIAL = "https://api.openai.com/v1"
NO_KEY = "none"
"""What is sent where no key is needed."""
QUOTA = re.compile(r"insufficient_quota|billing_hard_limit_reached|billing_not_active|PerDay")
"""What the error of a spent quota holds: trying again does not help. Gemini names its limits, such as `…PerDayPerProject…`."""


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine: `localhost`, or a loopback address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local(url: str) -> bool:
    """Whether an address is on this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def check_address(where: str, url: str) -> None:
    """Raise ConfigError unless this is an HTTP address without a user and a password."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ConfigError(where, f"is no address without a password: {parts.hostname!r}", "http://host:port")


def key_for(url: str, variable: str | None) -> str:
    """The key in an environment variable, NO_KEY where there is no need for one.

    ServiceError if it is missing or broken, or would go to another machine without encryption.
    """
    key = os.environ.get(variable, "").strip() if variable else ""
    if key and not is_local(url) and urlsplit(url).scheme == "http":
        raise ServiceError(
            url, f"would get {variable} without encryption", "write https://, or api_key_env: null to send no key"
        )
    if not key and variable and not is_local(url):
        raise ServiceError(url, f"needs a key, and {variable} is not set", f"export {variable}=<key>")
    if not (key.isascii() and key.isprintable()):
        raise ServiceError(url, f"the key in {variable} cannot be sent", "copy it again, without quotes or line breaks")
    return key or NO_KEY


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds of `Retry-After`; None where it has no such number."""
    value = headers.get("retry-after", "")
    return float(value) if re.fullmatch(r"\d{1,6}(\.\d+)?", value) else None
