"""The report of a sweep: one HTML page that opens from a disk, and the same findings as Markdown."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.core.files import replace_text
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep.sweep import REPORTS
from rag.reporting.html import markdown, page, wording
from rag.reporting.html.gather import gather
from rag.reporting.html.svg import undrawn
from rag.reporting.html.view_model import Material


@dataclass(frozen=True)
class Report:
    """The files of a report, and its first lines."""

    page: Path
    text: Path
    material: Material

    @property
    def files(self) -> dict[str, Path]:
        """The files that are attached to the sweep in MLflow, by their names there."""
        return {"report.html": self.page, "report.md": self.text, "verdict.json": self.page.with_name("verdict.json")}

    @property
    def lines(self) -> tuple[str, ...]:
        """The recommendation, its reasons, its uncertainty and its cost; a line on missing charts."""
        head = wording.headline(self.material)
        first = f"{head.lead} {head.name} ({head.trial_id})." if head.name else head.lead
        return tuple(filter(None, (first, head.why, " ".join(head.sure), head.cost, undrawn())))

    def to_json(self) -> dict[str, Any]:
        """The output of `rag report --json`."""
        head = wording.headline(self.material)
        said = {"recommended": head.trial_id, "name": head.name, "why": head.why, "sure": list(head.sure), "cost": head.cost}
        return {"page": str(self.page), "text": str(self.text), **said, "missing": dict(self.material.missing)}


def write(made: Plan, store: Store, folder: Path = REPORTS) -> Report:
    """Write `index.html` and `report.md` of a sweep in the store into the folder of its experiment in `folder`.

    Raises DataError if no trial has scores, OSError if the folder cannot be written.
    """
    place = folder / made.experiment.name
    replace_text(place / ".writable", "")  # checked before the minutes that a report may take
    (place / ".writable").unlink()
    material = gather(made, store, folder)
    replace_text(place / "index.html", page.render(material), errors="replace")
    replace_text(place / "report.md", markdown.render(material), errors="replace")
    return Report(place / "index.html", place / "report.md", material)
