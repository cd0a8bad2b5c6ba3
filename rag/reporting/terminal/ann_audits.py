"""What approximate search loses."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rag.analysis.ann_audit import AT, Audit, Loss
from rag.reporting.terminal.output import Table, escape, number, out


def audits(found: Sequence[Audit], names: Sequence[str] = ()) -> None:
    """A few rows per vector index: gold and neighbours beside exact search. `names` say what each is part of."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("index", "measure", "exact", "found", "lost to index", "to embedder"):
        table.add_column(title, justify="left" if title in ("index", "measure") else "right", no_wrap=title != "index")
    for place, audit in enumerate(found):
        titles = [escape(audit.index), f"[dim]{escape(names[place])}[/dim]" if names else ""]
        for title, cells in zip_longest(titles, _lines(audit), fillvalue=""):
            table.add_row(title, *cells)
    out.print(table)
    out.print("[dim]Lost to the index: exact search minus this one; brackets hold together in 95 % of tries.[/dim]")
    out.print("[dim]Lost to the embedder: gold that exact search does not find among the candidates either.[/dim]")


def _lines(audit: Audit) -> Iterator[tuple[str, ...]]:
    recall = f"gold in {audit.depth}"
    yield recall, number(audit.recall.exact), number(audit.recall.approximate), _lost(audit.recall), number(audit.embedder_lost)
    if audit.column:
        yield escape(audit.column), number(audit.metric.exact), number(audit.metric.approximate), _lost(audit.metric), ""
    for cut, share in {audit.k: audit.overlap_at_k, AT: audit.overlap_at_10}.items():
        yield f"nearest {cut}", number(1.0), number(share), number(1 - share) if share < 1 else "none", ""


def _lost(loss: Loss) -> str:
    if loss.lost == loss.low == loss.high == 0:
        return "none"
    lost, low, high = (number(round(value, 3) + 0.0) for value in (loss.lost, loss.low, loss.high))
    return f"{lost} [dim]\\[{low}, {high}][/dim]"
