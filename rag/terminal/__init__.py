"""What people see in a terminal: tables on standard output, progress on standard error."""

from rag.terminal.answers import answered, differs
from rag.terminal.audits import audits
from rag.terminal.boards import counted, leaderboard
from rag.terminal.chat import Chat
from rag.terminal.comparisons import comparisons
from rag.terminal.controls import controls
from rag.terminal.dialogues import dialogues
from rag.terminal.effects import effects
from rag.terminal.health import health
from rag.terminal.holdings import accepted, dataset, skipped, spaces
from rag.terminal.judges import concordance, judges
from rag.terminal.losses import losses
from rag.terminal.output import err, interval, number, out, print_json, stream
from rag.terminal.passages import passages
from rag.terminal.plans import plan, planned
from rag.terminal.prompts import prompt
from rag.terminal.review import reviewed
from rag.terminal.tallies import tallies
from rag.terminal.waiting import Waiting
from rag.terminal.why import why
from rag.terminal.winner import swept

__all__ = [
    "Chat",
    "Waiting",
    "accepted",
    "answered",
    "audits",
    "comparisons",
    "concordance",
    "controls",
    "counted",
    "dataset",
    "dialogues",
    "differs",
    "effects",
    "err",
    "health",
    "interval",
    "judges",
    "leaderboard",
    "losses",
    "number",
    "out",
    "passages",
    "plan",
    "planned",
    "print_json",
    "prompt",
    "reviewed",
    "skipped",
    "spaces",
    "stream",
    "swept",
    "tallies",
    "why",
]
