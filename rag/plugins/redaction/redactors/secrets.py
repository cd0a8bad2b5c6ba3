"""Secrets by form and by name."""

from collections.abc import Sequence

from rag.core.errors import ConfigError, closest
from rag.core.secrets.finder import find_secrets
from rag.core.secrets.named import RULE
from rag.core.secrets.shapes import rules_digest, shape_rules


class SecretRedactor:
    """Finds keys, passwords and tokens: by the rules of gitleaks and a few more, and by the name before a value.

    Placeholders and examples stay, such as `<your-key>`, `${TOKEN}`, `xxxx` and `changeme`. `skip` names rules that are not
    applied.
    """

    def __init__(self, skip: Sequence[str] = ()) -> None:
        """Raise ConfigError for a rule that does not exist."""
        known = {rule.name for rule in shape_rules().rules} | {RULE} if skip else set()
        for name in skip:
            if name not in known:
                raise ConfigError("loader.redactor.skip", f"there is no rule {name!r}", closest(name, known))
        self.skip = frozenset(skip)

    def fingerprint(self) -> str:
        """A sha256 of the files with the rules."""
        return rules_digest()

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        """The secrets, without overlaps."""
        return [find[:3] for find in find_secrets(text, self.skip)]
