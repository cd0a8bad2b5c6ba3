"""The power that a gate states, against how often its verdict is FAIL in simulated tries."""

import numpy as np
import pytest

from rag.analysis.gate.power import power, power_in_words, row_power
from rag.evaluation.statistics.paired import family

TRIES = 1500


@pytest.mark.parametrize(
    ("n", "groups", "spread", "together", "margin"),
    [
        (30, 30, 0.12, 0.0, 0.02),
        (80, 80, 0.2, 0.0, 0.0),
        (96, 12, 0.12, 0.3, 0.02),
        (60, 20, 0.25, 0.2, 0.05),
        (48, 5, 0.01, 0, 0.02),
    ],
)
def test_the_stated_power_is_that_of_the_verdicts(n: int, groups: int, spread: float, together: float, margin: float) -> None:
    chance, cluster, loss = np.random.default_rng(n), np.arange(n) % groups, max(0.05, 2 * margin)
    own, shared = chance.standard_normal((n, TRIES)), chance.standard_normal((groups, TRIES))[cluster]
    # Each try is a column with an interval of its own.
    tries = family(-loss + spread * (np.sqrt(1 - together) * own + np.sqrt(together) * shared), cluster, np.inf)
    failed = ((tries.high < 0) & (tries.low < -margin)).mean()
    error = spread * np.sqrt(((1 - together) + together * n / groups) / n)
    assert power(error, np.bincount(cluster).astype(np.float64), 0.05, loss) == pytest.approx(failed, abs=0.03)


@pytest.mark.parametrize(("n", "groups"), [(100, 100), (200, 25), (400, 400)])
def test_a_loss_of_whole_questions_is_found_as_stated_where_nothing_differs_today(n: int, groups: int) -> None:
    chance, base, cluster = np.random.default_rng(2), np.resize([1.0, 0.5, 1.0, 0.0], n), np.arange(n) % groups
    loss, stated = row_power(base, cluster, 0.02, np.nan, 0.05, 1.0)
    tries = family(-base[:, None] * (chance.uniform(size=(n, TRIES)) < loss / base.mean()), cluster)
    assert stated == pytest.approx(((tries.high < 0) & (tries.low < -0.02)).mean(), abs=0.03)
    assert row_power(base - 1, cluster, 0.02, np.nan, 0.05, 1.0)[1] > 0, "shares of which less is better"
    assert np.isnan(row_power(base / 20, cluster, 0.02, np.nan, 0.05, 1.0)[1]), "they cannot lose as much"
    assert power_in_words([("m", loss, 0.921), ("n", loss, None)]) == "Finds a loss of .05 in 92 % of tries (m)."
