"""The files in conf/ write out the defaults of the constructors, so that a reader needs no code."""

import inspect

import pytest
from support.choices import choices, content

from rag.config.build import Components
from rag.core.errors import MissingExtraError

GROUPS = ("index", "fusion", "loader", "dataset", "redactor")
FILES = [(group, name) for group in GROUPS for name in choices(group) if name != "mixed"]
"""All but the choice that takes over the parameters of `folder`."""


EXAMPLES = {("dialogues", "questions"), ("secrets_and_personal", "keep_roles"), ("presidio", "keep_roles")}
"""Values that a file writes out in full."""


@pytest.mark.parametrize(("group", "name"), FILES)
def test_every_parameter_is_written_out_with_its_default(group: str, name: str) -> None:
    read = content(f"{group}/{name}")
    written = {key: "english" if value == "${language}" else value for key, value in read.get(name, read).items()}
    try:
        parameters = inspect.signature(Components().resolve(written.pop("_target_"), group)).parameters
    except MissingExtraError as error:
        pytest.skip(str(error))
    written.pop("defaults", None)
    written |= written.pop("runtime", {})
    assert set(written) == set(parameters)
    for key, parameter in parameters.items():
        value = tuple(written[key]) if isinstance(written[key], list) else written[key]
        assert parameter.default in (inspect.Parameter.empty, value) or (name, key) in EXAMPLES
