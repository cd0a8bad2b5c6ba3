"""What a shell offers behind TAB: experiments, groups and choices. Typer offers verbs and options."""

from typing import Any


def experiments(incomplete: str) -> list[str]:
    """Names of declared experiments."""
    from rag.config import catalog

    return [name for name in catalog.experiments() if name.startswith(incomplete)]


def listed(incomplete: str) -> list[str]:
    """What `rag list` takes first."""
    from rag.config import catalog

    return [
        name for name in (*catalog.groups(), *catalog.experiments(), "experiments", "values") if name.startswith(incomplete)
    ]


def of_group(ctx: Any, incomplete: str) -> list[str]:
    """The choices of the group that stands before."""
    from rag.config import catalog

    return [name for name in catalog.choices(ctx.params.get("what") or "") if name.startswith(incomplete)]


def overrides(ctx: Any, incomplete: str) -> list[str]:
    """`group=` while several groups fit, then `group=choice`; the choice alone to bash, for which `=` ends a word."""
    from rag.config import catalog

    before = [word for word in ctx.params.get("overrides") or () if word != "="]
    if before and before[-1] in catalog.groups():
        return [name for name in catalog.choices(before[-1]) if name.startswith(incomplete)]
    groups = [name for name in catalog.groups() if name.startswith(incomplete.partition("=")[0])]
    names = (
        [f"{name}=" for name in groups]
        if len(groups) > 1
        else [f"{name}={c}" for name in groups for c in catalog.choices(name)]
    )
    return [name for name in names if name.startswith(incomplete)]
