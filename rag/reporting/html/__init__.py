"""A sweep → one page that opens from a disk, and the same findings as text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.core.errors import StoreError
from rag.core.files import replace_text
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep.sweep import REPORTS
from rag.reporting.html import markdown, page, wording
from rag.reporting.html.gather import gather
from rag.reporting.html.view_model import Material

__all__ = ["Material", "Report", "gather", "write"]


@dataclass(frozen=True)
class Report:
    """The files of a report, and what its first lines say."""

    page: Path
    text: Path
    material: Material

    @property
    def files(self) -> dict[str, Path]:
        """What belongs beside the sweep in MLflow, by the names that it gets there."""
        return {"report.html": self.page, "report.md": self.text, "verdict.json": self.page.with_name("verdict.json")}

    @property
    def lines(self) -> tuple[str, ...]:
        """What to do, how sure, what it costs."""
        head = wording.headline(self.material)
        first = f"{head.lead} {head.name} ({head.trial_id})." if head.name else head.lead
        return tuple(filter(None, (first, head.why, " ".join(head.sure), head.cost)))

    def to_json(self) -> dict[str, Any]:
        """What `rag report --json` prints."""
        head = wording.headline(self.material)
        told = {"page": str(self.page), "text": str(self.text), "recommended": head.trial_id, "name": head.name}
        said = {"why": head.why, "sure": list(head.sure), "cost": head.cost, "missing": dict(self.material.missing)}
        return told | said


def write(made: Plan, store: Store, folder: Path = REPORTS) -> Report:
    """Write `index.html` and `report.md` of a plan whose sweep is in the store into its folder below `folder`.

    DataError where no trial has scores, StoreError where the folder cannot be written.
    """
    place = folder / made.experiment.name
    _writable(place)
    material = gather(made, store, folder)
    for name, text in (("index.html", page.render(material)), ("report.md", markdown.render(material))):
        _write(place / name, text)
    return Report(place / "index.html", place / "report.md", material)


def _writable(place: Path) -> None:
    """Find out before minutes are spent on what could not be written."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        _write(place / ".writable", "")
        (place / ".writable").unlink()
    except OSError as error:
        raise _unwritable(place, error) from error


def _write(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one."""
    try:
        replace_text(path, text, errors="replace")
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    what = f"cannot be written ({error.strerror})"
    return StoreError(str(path), what, "mend that and run rag report again: it is made from the store")
