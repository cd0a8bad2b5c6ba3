"""What people see in a terminal: tables on standard output, progress on standard error."""

from rag.reporting.terminal.ablations import controls
from rag.reporting.terminal.ann_audits import audits
from rag.reporting.terminal.answers import answered, differs
from rag.reporting.terminal.chat import Chat
from rag.reporting.terminal.comparisons import comparisons
from rag.reporting.terminal.dialogues import dialogues
from rag.reporting.terminal.effects import effects
from rag.reporting.terminal.finding_counts import tallies
from rag.reporting.terminal.health import health
from rag.reporting.terminal.judges import concordance, judges
from rag.reporting.terminal.leaderboards import counted, leaderboard
from rag.reporting.terminal.lost_questions import losses
from rag.reporting.terminal.output import err, interval, number, out, print_json, stream
from rag.reporting.terminal.passages import passages, passages_of_answer
from rag.reporting.terminal.plans import plan, planned
from rag.reporting.terminal.prompts import prompt
from rag.reporting.terminal.recommendation import swept
from rag.reporting.terminal.review import reviewed
from rag.reporting.terminal.store_contents import accepted, dataset, skipped, spaces
from rag.reporting.terminal.streamed_answer import Waiting
from rag.reporting.terminal.why import why

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
    "passages_of_answer",
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
