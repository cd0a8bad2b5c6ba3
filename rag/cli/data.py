"""Verbs about corpora and golden sets."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import data, verb
from rag.cli.options import Experiment, Json, Overrides, opened_set, prepared, print_json, print_line


@data.command()
def check(name: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Validate a golden set: all problems at once, files that are not read, counts, and the smallest difference it can show.

    Lists the questions that a changed document touches: whether each quote is still there, has moved, was reworded or is gone.
    It also counts generated questions that no person has reviewed.

    Exit code 2 if there is a problem. A file that cannot be read is one; the set can be used without it.
    """
    from rag.authoring.review.drift import drift_of_set
    from rag.components.loaders.native_questions import NativeQuestions
    from rag.core.errors import together
    from rag.evaluation.data.validation import load_and_check
    from rag.reporting.terminal import golden_sets
    from rag.reporting.terminal.store_contents import dataset, skipped

    loader, questions = opened_set(name, overrides)
    seen = load_and_check(loader, questions)
    broken = bool(seen.problems)
    found, waiting = drift_of_set(loader, questions, broken) if isinstance(questions, NativeQuestions) else ([], {})
    if as_json:
        print_json(seen.to_json() | {"drift": [asdict(each) for each in found], "not_reviewed": waiting})
    else:
        skipped(seen.skipped)
        if seen.check:
            dataset(name, seen.check)
        golden_sets.drift(found, waiting)
    if seen.problems:
        raise together(seen.problems)


@data.command()
def diff(
    old: Annotated[Path, typer.Argument(help="A folder with questions.jsonl, or the file.")],
    new: Annotated[Path, typer.Argument(help="The folder or file of the other version.")],
    as_json: Json = False,
) -> None:
    """Compare two versions of a golden set: questions added, removed, renamed, changed, and what that means for baselines."""
    from rag.authoring.review.set_diff import compare_versions, read_version
    from rag.reporting.terminal.golden_sets import difference

    found = compare_versions(read_version(old), read_version(new))
    print_json(asdict(found)) if as_json else difference(found)


@data.command()
def fix(
    name: str,
    overrides: Overrides = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking, but no reworded quote.")] = False,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Take the new words that rag data check shows for this question.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a diff that corrects quotes which differ from their documents in Markdown, curly quotes or white space, or moved.

    Quotes that were reworded are shown first, one by one; a quote with another number, name or negation is never written.
    The diff is written when it is accepted. --json asks no question. Exit code 2 if problems remain that a person must fix.
    """
    from rag.authoring.review.drift import drifts
    from rag.cli.review import question_file
    from rag.core.errors import DataError
    from rag.core.figures import amount
    from rag.reporting.terminal.golden_sets import takes
    from rag.reporting.terminal.line_input import Typed
    from rag.reporting.terminal.store_contents import accepts

    file, typed = question_file(name, overrides), Typed()
    reworded = [each for each in drifts(file.rows([]), file.documents) if each.state == "reworded"]
    asking = not (yes or as_json or accept)
    if unknown := sorted(set(accept or ()) - {each.query_id for each in reworded}):
        what = f"{unknown[0]!r} has no quote that was only reworded"
        raise DataError("--accept", what, "rag data check shows the new words; facts that differ are edited by a person")
    taken = {each.query_id for each in reworded if asking and takes(each, typed)}
    fixes = file.fixes(taken | set(accept or ()))
    diff = fixes.diff(str(file.path))
    accepted = bool(diff) and (yes or (not as_json and accepts(diff, fixes.count)))
    if accepted:
        file.write(fixes)
    if as_json:
        made = {"quotes": fixes.count, "diff": diff, "written": accepted, "reworded": [asdict(each) for each in reworded]}
        print_json({"questions": str(file.path)} | made)
    else:
        print_line(f"{amount(fixes.count, 'quote') if accepted else 'no quotes'} written.")
    file.golden()


@data.command()
def health(experiment: Experiment, overrides: Overrides = None, as_json: Json = False) -> None:
    """List questions of an experiment to review: near-duplicates, give-aways, never or always solved, suspect gold.

    The last three are read from the trials of its sweep that have run.
    """
    from rag.analysis.dataset_health import check_health
    from rag.reporting.terminal import golden_sets as report

    ready = prepared(experiment, overrides)
    sets = check_health(ready.plan, ready.store)
    if as_json:
        print_json({"experiment": ready.plan.experiment.name, "sets": [each.to_json() for each in sets]})
    for each in () if as_json else sets:
        report.health(each)


@data.command()
def pool(
    experiment: Experiment,
    overrides: Overrides = None,
    to: Annotated[Path | None, typer.Option(help="The file to write; by default next to the questions, for a review.")] = None,
    most: Annotated[int, typer.Option(help="The most lines to write.")] = 500,
    again: Annotated[bool, typer.Option("--again", help="List labels that are likely wrong instead.")] = False,
    as_json: Json = False,
) -> None:
    """List passages that trials of a finished sweep rank first and that have no judgement, what changes the verdict most first.

    rag data review then shows them: accepted, a passage is gold; dropped, it is judged as not relevant. Present labels stay.
    With --again they are labels that the ranks of all trials speak against, and that move the lead of the best one.
    """
    from rag.api.generation import write_rows
    from rag.authoring.pool import label_rows, pool_rows
    from rag.authoring.review.pool_drafts import pool_file
    from rag.components.loaders.native_questions import NativeQuestions
    from rag.core.errors import ConfigError

    ready = prepared(experiment, overrides)
    config = ready.trial.trial.config
    questions = ready.plan.graph.components.role("dataset", config["dataset"])
    if to is None and not isinstance(questions, NativeQuestions):
        raise ConfigError("dataset", "has a format that cannot be reviewed", "name a file: --to pool.jsonl; or rag data import")
    rows = (label_rows if again else pool_rows)(ready.plan, ready.store)
    path = to or pool_file(questions.file)
    write_rows(path, rows[:most])
    if as_json:
        print_json({"pool": str(path), "labels" if again else "passages": len(rows), "written": min(most, len(rows))})
    else:
        what = "labels to look at again" if again else "passages without a judgement"
        print_line(f"{min(most, len(rows)):,} of {len(rows):,} {what} written to {path}.")


@verb(data)
def inspect(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BUNDLE | KEY=VALUE …]",
            help="A bundle, or Hydra overrides, for example loader.path=docs; left out for the default dataset.",
        ),
    ] = None,
    chunkers: Annotated[
        str, typer.Option(help="One or two choices, for example 'recursive size=400,recursive size=400 passage=titled'.")
    ] = "recursive,token",
    html: Annotated[Path, typer.Option(help="The page to write.")] = Path("reports/documents.html"),
    as_json: Json = False,
) -> None:
    """Write one HTML page with documents, their pages and blocks, their chunks, gold, redactions and flags.

    The page opens from a disk and needs no network. Flags: tiny, huge, no words, repeated, mojibake, cut by the window of the
    embedder, ends in a heading, and row without header. Chunks of two chunkers are side by side, each with what an index reads
    besides its characters; a bundle has its own chunker. Gold is that of the dataset; with loader.path and no dataset there is
    none.

    --json: page (its path), left_out (documents without text in the page), name, documents, pages, blocks, rows (of tables),
    redactions by rule, gold by state, flags of documents, and chunkers: chunks, flags, gold_cut (evidence that no chunk holds
    whole), rows_parted (rows that no chunk holds whole and is read with the header of).
    """
    from rag.analysis import corpus_view
    from rag.bundle.open_bundle import open_bundle
    from rag.reporting.html import corpus_page
    from rag.reporting.terminal.golden_sets import inspected

    given = what or []
    if len(given) == 1 and "=" not in given[0]:
        bundle = open_bundle(Path(given[0]))
        view = corpus_view.of_pipeline(bundle.name, bundle.pipeline)
    else:
        view = corpus_view.of_config(given, chunkers.split(","))
    left_out = corpus_page.write(view, html)
    print_json({"page": str(html), "left_out": left_out, **view.to_json()}) if as_json else inspected(view, html, left_out)


@data.command()
def generate(
    to: Annotated[Path, typer.Option(help="The folder of the new set; an existing set is not overwritten.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="A folder or a dataset, and Hydra overrides, for example language=german.", metavar="[FOLDER] KEY=VALUE …"
        ),
    ] = None,
    questions: Annotated[int, typer.Option(min=1, max=10_000, help="The most questions.")] = 100,
    kinds: Annotated[str, typer.Option(help="Kinds of questions, with commas between, for example table,factoid.")] = "",
    model: Annotated[bool, typer.Option("--model", help="Ask the generator of the config for questions first.")] = False,
    model_filters: Annotated[
        str, typer.Option(help="Filters that ask the model: evidence,closed_book,others, or none. Default: all.")
    ] = "",
    style_from: Annotated[Path | None, typer.Option(help="A questions.jsonl whose questions show how people ask.")] = None,
    as_json: Json = False,
) -> None:
    """Make a golden set from documents: questions with their evidence, without a key and without a model.

    Rules make questions from tables, definitions, lists, numbers, dates and plain statements; filters drop those that another
    passage answers as well, that give their answer away, or that make no sense alone. The report counts what is kept and what
    is dropped, and shows how well the set tells trials apart. Read the questions before you rely on them: rag data review.

    With --model the generator of the config is asked first, and rules make the rest; replies are stored, so that the same
    command continues after a kill or a spent budget. docs/generation.md says what a reply must hold.

    --json: questions, path, proposed (by method), dropped (by reason), unread (candidates that were not needed), notes, kinds,
    methods, documents, clusters, word_overlap, answered_elsewhere, answerable_without_evidence, solved_by_all, solved_by_none,
    solved (share of questions by trial of the probe).
    """
    from rag.api.generation import generate_set
    from rag.api.ingestion import config_of_folder, overrides_of
    from rag.config.compose import written
    from rag.reporting.terminal import generation

    chosen = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    filters = [name.strip() for name in model_filters.split(",") if name.strip() not in ("", "none")]
    made, report = generate_set(what or (), to, questions, chosen, model, filters if model_filters else None, style_from)
    place = config_of_folder(what or ())["loader"].get("path", "")
    own = [written("loader.path", place)] if Path(place) != to / "documents" else []
    own += [each for each in overrides_of(what or ()) if not each.startswith(("dataset", "loader=", "loader.path="))]
    print_json(report) if as_json else generation.generated(made, report, [written("dataset.path", str(to)), *own])
