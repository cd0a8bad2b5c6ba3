"""Personal data that stays: published addresses and those of functions."""

from collections.abc import Sequence


class KeepPolicy:
    """Keeps e-mail addresses by the part before `@` and by domain, and given values; letter case does not count."""

    def __init__(self, roles: Sequence[str], domains: Sequence[str], values: Sequence[str]) -> None:
        self.roles = frozenset(role.lower() for role in roles)
        self.domains = tuple(domain.lower().lstrip("@.") for domain in domains)
        self.values = frozenset(value.lower() for value in values)

    def keeps(self, value: str) -> bool:
        """Whether a found value stays."""
        value = value.lower()
        if value in self.values or "@" not in value:
            return value in self.values
        local, _, domain = value.rpartition("@")
        is_ours = any(domain == ours or domain.endswith(f".{ours}") for ours in self.domains)
        return is_ours or local.partition("+")[0] in self.roles
