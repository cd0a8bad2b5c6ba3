"""When to decline: risk and coverage, and a threshold chosen on `tune` and checked on `holdout`."""

from rag.analysis.abstention.curve import Area, Cases, Checked, Point, area, check, choose, points
from rag.analysis.abstention.study import AbstentionStudy, Part, Study, prepare, tell

__all__ = [
    "AbstentionStudy",
    "Area",
    "Cases",
    "Checked",
    "Part",
    "Point",
    "Study",
    "area",
    "check",
    "choose",
    "points",
    "prepare",
    "tell",
]
