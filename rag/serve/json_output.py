"""What is sent, as JSON."""

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def written(told: Any) -> bytes:
    """JSON in UTF-8; what is no number is null.

    A model may send the two halves of a character in two pieces. UTF-8 has no half characters, so such a text is written in
    ASCII, where they have: whoever joins the pieces has the character.
    """
    try:
        return to_json(told, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(told, allow_nan=False).encode()
