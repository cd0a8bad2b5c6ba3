"""When to decline: the area under risk and coverage, and what a floor from one half of the questions does on the other."""

from pathlib import Path
from typing import Any

import pytest
from bench.measuring import DATA, Report, needs_data, rag

pytestmark = [pytest.mark.bench, needs_data]

SQUAD = ("dataset=squad", f"dataset.path={DATA}/squad2-a")


def study(*overrides: str) -> dict[str, Any]:
    told: dict[str, Any] = rag("abstention", *overrides, "store=store", "--json").content
    return told


def show(name: str, told: dict[str, Any]) -> None:
    floor = told["chosen"]["threshold"]
    report = Report(
        f"{name}: {'answer everything' if floor is None else f'floor {floor:.3f}'}", ("what", "value", "low", "high")
    )
    for split, part in told["splits"].items():
        for figure in ("aurc", "auc"):
            report.row(f"{split} {figure}", *(part[figure][end] for end in ("value", "low", "high")))
        report.row(f"{split} least area, risk of answering all", part["best"], part["chance"], float("nan"))
        for figure, held in part["at_threshold"].items():
            report.row(f"{split} {figure}", *(held[end] for end in ("value", "low", "high")))
    report.show()


def test_squad_has_a_floor_that_pays_on_the_holdout(bench: Path) -> None:
    told = study(*SQUAD)
    show("SQuAD 2.0, 1,515 questions with gold and 1,554 without, extractive", told)
    for part in told["splits"].values():
        assert part["aurc"]["high"] < part["chance"]
        assert part["auc"]["low"] > 0.5
    assert told["splits"]["holdout"]["at_threshold"]["gain"]["low"] > 0.05


def test_the_handbook_asks_for_what_is_nearly_there(bench: Path) -> None:
    told = study()
    show("handbook, 207 questions with gold and 25 without, extractive", told)
    # Its unanswerable questions are near misses: no similarity tells them apart, and the study says so.
    assert told["chosen"]["threshold"] is None
    assert all(part["auc"]["low"] < 0.5 < part["auc"]["high"] for part in told["splits"].values())
