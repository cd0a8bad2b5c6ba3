"""Ids that differ in one character or in two swapped ones: typing mistakes, never the same id."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

MOST = 3
"""Near ids that are reported."""
LONGEST = 64
"""Characters of the longest id that is compared."""


class NearIds:
    """Finds the ids near one that is not there; every id is indexed under itself and without each of its characters."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._shorter = defaultdict[str, list[str]](list)
        for one in ids:
            for key in _keys(one) if len(one) <= LONGEST else ():
                self._shorter[key].append(one)

    def of(self, wanted: str) -> tuple[str, ...]:
        """Up to MOST ids at edit distance 1, or with two neighbouring characters or any two digits swapped."""
        if not 1 < len(wanted) <= LONGEST:
            return ()
        found = dict[str, None]()
        for one in self._found(wanted):
            found[one] = None
            if len(found) == MOST:
                break
        return tuple(found)

    def _found(self, wanted: str) -> Iterator[str]:
        digits = [at for at, character in enumerate(wanted) if character.isdecimal()]
        for first, last in combinations(digits, 2):
            swapped = wanted[:first] + wanted[last] + wanted[first + 1 : last] + wanted[first] + wanted[last + 1 :]
            yield from (one for one in self._shorter.get(swapped, ()) if one == swapped != wanted)
        for key in _keys(wanted):
            yield from (one for one in self._shorter.get(key, ()) if is_near(one, wanted))


def is_near(one: str, other: str) -> bool:
    """True for two ids at edit distance 1, or with two neighbouring characters or any two digits swapped."""
    if len(one) != len(other):
        longer, shorter = (one, other) if len(one) > len(other) else (other, one)
        return len(longer) - len(shorter) == 1 and any(key == shorter for key in _keys(longer))
    apart = [at for at in range(len(one)) if one[at] != other[at]]
    if len(apart) != 2:
        return len(apart) == 1
    first, last = apart
    crossed = one[first] == other[last] and one[last] == other[first]
    return crossed and (last - first == 1 or (one[first].isdecimal() and one[last].isdecimal()))


def _keys(one: str) -> dict[str, None]:
    """An id, and the id without each of its characters."""
    return dict.fromkeys([one, *(one[:at] + one[at + 1 :] for at in range(len(one)))])
