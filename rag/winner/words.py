"""Why a trial is recommended, in one sentence that is true of the figures."""

from collections.abc import Sequence

from rag.winner.records import Entrant, Mean


def why(
    entrants: Sequence[Entrant],
    tied: Sequence[Entrant],
    taken: Entrant,
    reason: str,
    behind: Mean | None,
    nearest: tuple[Entrant, Mean] | None,
) -> str:
    """What sets the recommended trial apart; `reason` is what it was taken for among the tied: cost, latency, size or nothing.

    `behind` is its difference from the best, `nearest` the best of the trials that are shown to be worse.
    """
    if len(entrants) == 1:
        return "It is the only trial that can be chosen."
    if behind is None:
        return "It is first by what was measured; how sure that is cannot be tested, for it is no score of questions."
    if len(tied) == 1:
        told = f", the next, {nearest[0].name}, by {_shown(_turned(nearest[1]))}" if nearest else ""
        return f"The other {len(entrants) - 1} are ruled out as the best{told}."
    number = f"all {len(tied)}" if len(tied) == len(entrants) else f"{len(tied)} of {len(entrants)}"
    first = f"{number} trials cannot be told from the best by mean"
    if taken is tied[0]:
        return f"{_capital(first)}, and it is that one{_advantage(tied, taken, reason)}."
    return f"{_capital(first)}; {_apart(taken, tied, reason)}, {_gap(behind)}."


def refuted(tied: Sequence[Entrant], taken: Entrant, reason: str, difference: Mean) -> str:
    """Why it is the best by mean after all: the one that was taken for `reason` is worse than it on the holdout."""
    kind = {"cost": "cheapest", "latency": "fastest", "size": "smallest"}[reason]
    other = f"{taken.name}, the {kind} of {len(tied)} that are tied on tune"
    return f"It is the best by mean; {other}, is worse on the holdout by {_shown(_turned(difference))}."


def _gap(behind: Mean) -> str:
    """How far the recommended trial is behind the best."""
    if behind.mean == behind.low == behind.high == 0:
        return "and it answers every question as well"
    return f"{_shown(behind, '+')} against the best by mean"


def _advantage(tied: Sequence[Entrant], taken: Entrant, reason: str) -> str:
    if reason == "latency":
        return f": none of the others is shown to be faster (p95 {_latency(taken)})"
    if reason == "cost":
        return f", which is also the cheapest ({_cost(taken)})"
    if reason == "size":
        return f", which also has the smallest indexes ({_size(taken)})"
    return ": nothing that was measured speaks for another"


def _apart(taken: Entrant, tied: Sequence[Entrant], reason: str) -> str:
    best = tied[0]
    if reason == "cost":
        return f"this is the cheapest of them ({_cost(taken)} against {_cost(best)})"
    if reason == "latency":
        fastest = taken.latency <= min(one.latency for one in tied if one.latency == one.latency)
        told = "this is the fastest of them" if fastest else "this is the best of those that none is shown to outrun"
        return f"{told} (p95 {_latency(taken)} against {_latency(best)})"
    return f"this has the smallest indexes of them ({_size(taken)} against {_size(best)})"


def _latency(one: Entrant) -> str:
    return f"{one.latency:.1f} ms"


def _cost(one: Entrant) -> str:
    return f"{one.cost:.4f} US dollars"


def _size(one: Entrant) -> str:
    return f"{one.size / 1e6:,.2f} MB" if one.size >= 1e6 else f"{one.size / 1e3:,.1f} kB"


def _turned(behind: Mean) -> Mean:
    return Mean(-behind.mean, -behind.high, -behind.low)


def _shown(found: Mean, sign: str = "") -> str:
    return f"{figure(found.mean, sign)} [{figure(found.low, sign)}, {figure(found.high, sign)}]"


def figure(value: float, sign: str = "") -> str:
    """Three digits behind the point and none before it: `.041`."""
    text = f"{value:{sign}.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
