"""Shell completion of experiments, groups and choices. Typer completes verbs and options."""

from typing import Any


def experiments(incomplete: str) -> list[str]:
    """Names of declared experiments."""
    from rag.config import catalog

    return [name for name in catalog.experiments() if name.startswith(incomplete)]


def listed(incomplete: str) -> list[str]:
    """First arguments of `rag list`."""
    from rag.config import catalog, topics

    known = {*catalog.groups(), *catalog.experiments(), *topics.TOPICS, "experiments", "values"}
    return sorted(name for name in known if name.startswith(incomplete))


def of_group(ctx: Any, incomplete: str) -> list[str]:
    """The choices of the group before the cursor."""
    from rag.config import catalog

    return [name for name in catalog.choices(ctx.params.get("what") or "") if name.startswith(incomplete)]


def overrides(ctx: Any, incomplete: str) -> list[str]:
    """`group=` while several groups fit, then `group=choice`; only the choice for bash, where `=` ends a word."""
    from rag.config import catalog

    before = [word for word in ctx.params.get("overrides") or () if word != "="]
    if before and before[-1] in catalog.groups():
        return [name for name in catalog.choices(before[-1]) if name.startswith(incomplete)]
    groups = [name for name in catalog.groups() if name.startswith(incomplete.partition("=")[0])]
    if len(groups) > 1:
        return [f"{name}=" for name in groups if f"{name}=".startswith(incomplete)]
    names = [f"{name}={choice}" for name in groups for choice in catalog.choices(name)]
    return [name for name in names if name.startswith(incomplete)]
