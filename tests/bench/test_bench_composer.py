"""Our composer against Hydra: the first and the last trial of every shipped experiment, alone and with every preset."""

import json

import hydra
import pytest
from bench.measuring import Report, timed
from omegaconf import OmegaConf

from rag.config.catalog import choices, experiments, installed_folders
from rag.config.compose import parsed, shipped
from rag.config.composer import Composer
from rag.config.experiment import load

pytestmark = pytest.mark.bench
KEYED = ["generator=openai", "helper=openai"]
"""Choices in place of `auto`, which is ours alone."""


@pytest.mark.parametrize("preset", choices("preset"))
def test_trials_compose_as_hydra_composes_them(preset: str) -> None:
    composer, report = Composer(), Report(f"preset={preset}", ("experiment", "CPU s of Hydra", "CPU s of ours"))
    folders = f"hydra.searchpath=[{','.join(f'file://{folder}' for folder in installed_folders())}]"
    with hydra.initialize_config_dir(str(shipped("conf")), version_base="1.3"):
        for name in experiments():
            found = load(name)
            for number in (0, -1):
                chosen = [each for axis in found.axes.values() for each in axis[number].overrides]
                overrides = [f"preset={preset}", *KEYED, *found.fixed, *chosen]
                with timed() as theirs:
                    expected = OmegaConf.to_container(hydra.compose("config", [folders, *overrides]), resolve=False)
                with timed() as ours:
                    made = composer.config(parsed(overrides))
                assert json.dumps(made) == json.dumps(expected), overrides
                report.row(name, theirs.cpu, ours.cpu)
    report.show()
