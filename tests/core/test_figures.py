"""One form of figures and intervals, and the places that print it."""

import math

import pytest

from rag.core.figures import amount, brackets, figure, interval, with_interval
from rag.evaluation.statistics.agreement import Estimate
from rag.execution.sweep.selection import Mean
from rag.reporting.terminal.output import dimmed

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "digits", "plain", "signed"),
    [
        (0.0, 3, ".000", ".000"),
        (-0.0004, 3, ".000", ".000"),
        (0.0004, 3, ".000", ".000"),
        (0.7126, 3, ".713", "+.713"),
        (-0.25, 3, "-.250", "-.250"),
        (1.0, 3, "1.000", "+1.000"),
        (-10.04, 1, "-10.0", "-10.0"),
        (12.5, 0, "12", "+12"),
        (0.005, 2, ".01", "+.01"),
        (NAN, 3, "–", "–"),
        (None, 3, "–", "–"),
    ],
)
def test_a_figure(value: float | None, digits: int, plain: str, signed: str) -> None:
    assert (figure(value, digits), figure(value, digits, signed=True)) == (plain, signed)


def test_an_interval() -> None:
    assert interval(0.712, 0.68, 0.7444) == ".712 [.680, .744]"
    assert interval(0.041, -0.0281, 0.11, signed=True) == "+.041 [-.028, .110]"
    assert interval(-0.03, -1.0, -0.0001, digits=2, signed=True) == "-.03 [-1.00, .00]"
    assert [interval(0.5, *ends) for ends in ((NAN, 1.0), (0.0, None), ())] == [".500"] * 3
    assert (interval(None), interval(NAN, NAN, NAN), brackets(None, 1)) == ("–", "–", "")
    assert with_interval(Mean(0.5)) == ".500"
    assert with_interval(Estimate(0.5, 0.4, 0.6)) == ".500 [.400, .600]"
    assert dimmed(".500 [.400, .600]") == ".500 [dim]\\[.400, .600][/dim]"
    assert [amount(1, "trial"), amount(1200, "trial"), amount(0, "trial")] == ["1 trial", "1,200 trials", "0 trials"]
