"""When to decline: risk and coverage, and a threshold chosen on `tune` and checked on `holdout`."""

from rag.analysis.abstention.curve import Point
from rag.analysis.abstention.study import AbstentionStudy, prepare, tell
