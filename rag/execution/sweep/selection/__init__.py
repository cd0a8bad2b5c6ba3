"""The recommended trial of a sweep, by a declared rule, and the trials that are not shown to be worse than the best."""

from rag.execution.sweep.selection import rule
from rag.execution.sweep.selection.candidates import Candidates, keep_comparable
from rag.execution.sweep.selection.choice import choose
from rag.execution.sweep.selection.decision import Decision, decide
from rag.execution.sweep.selection.race import Race, race
from rag.execution.sweep.selection.rule import Rule
from rag.execution.sweep.selection.winner import Entrant, Holdout, Mean, Standing, Winner, read
