"""When to decline: risk against coverage, and a threshold chosen on some questions and checked on others."""

from rag.analysis.abstention.curve import Area, Cases, Checked, Point, area, check, choose, points
from rag.analysis.abstention.study import Part, Study, Told, prepare, tell

__all__ = ["Area", "Cases", "Checked", "Part", "Point", "Study", "Told", "area", "check", "choose", "points", "prepare", "tell"]
