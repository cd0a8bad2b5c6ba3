"""Write a report about the documents from a template."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag.bundle.open_bundle import open_bundle
from rag.components.generators.closed_book import ClosedBookGenerator
from rag.config.build import Components
from rag.config.catalog import plugins, texts
from rag.config.compose import compose, resolve
from rag.core.errors import ConfigError
from rag.core.roles import changes_nothing
from rag.execution.sweep.open_config import config_to_answer, open_config
from rag.pipeline.write.report_gaps import GapCheck
from rag.pipeline.write.report_template import outline, read_template
from rag.pipeline.write.report_writer import Report, Writer
from rag.reporting.report_files import check_path, save

PROMPT = "prompt=section"
"""The prompt unless another one is named, also of trials and bundles, whose prompts are for questions."""


def write_report(
    template: Path | str | Mapping[str, Any],
    *overrides: str,
    out: Path | str | None = None,
    bundle: Path | str | None = None,
    hear: Callable[[str], None] = lambda heading: None,
) -> Report:
    """Write the report of a template (a file or its content) with a config, with `trial=ID`, or with a sealed bundle.

    `out` is a .md, .html or .docx file, `hear` gets each heading. Replies of models are stored, within the budget of the
    config; those of a bundle are not. UserError for a template, a filter or a config that cannot be used.
    """
    title, sections = read_template(template)
    if out is not None:
        check_path(Path(out))
    if bundle is None:
        named = any(each.lstrip("+").startswith("prompt=") for each in overrides)
        config, _ = config_to_answer([*overrides, *([] if named else [PROMPT])])
        pipeline = open_config(config, stored=True)
        prompt = pipeline.reading.prompt
    else:
        opened = open_bundle(Path(bundle))
        config, pipeline = dict(opened.config), opened.pipeline
        prompt = Components(plugins()).role("prompt", resolve(compose([PROMPT, *overrides]))["prompt"])
    generator = pipeline.generator
    if changes_nothing(generator) or isinstance(generator, ClosedBookGenerator):
        raise ConfigError("generator", "writes nothing from passages", "generator=extractive, or a model: rag list generator")
    known = "\n".join(filter(None, (getattr(prompt, "project", ""), outline(title, sections))))
    reading = replace(pipeline.reading, prompt=replace(prompt, project=known))  # type: ignore[type-var]
    check = GapCheck(texts("write", ("instruction", "prompt", "covered", "languages")), config.get("language", "english"))
    report = Writer(replace(pipeline, reading=reading), check, hear).write(title, sections)
    if out is not None:
        save(report, Path(out))
    return report
