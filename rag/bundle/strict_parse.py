"""JSON and YAML of strangers: plain values, and nothing that a parser would have to think about."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    ScalarEvent,
)
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rag.bundle.errors import BundleError, refused

DEEPEST = 24
"""Levels of mappings and lists in a YAML file."""
MOST = 20_000
"""Values in a YAML file: it is read before anything of it is known."""
LINE = 64 << 20
"""Bytes of one line of JSON."""
TAG = "tag:yaml.org,2002:"
NUMBERS = frozenset((TAG + "int", TAG + "float"))
DIGITS = 64
SCALARS = frozenset(TAG + name for name in ("str", "int", "float", "bool", "null"))


def json_of(data: bytes | bytearray | memoryview, where: str) -> Any:
    """A JSON value; BundleError for two values of one name, NaN, numbers without end, and what nests too deep."""
    try:
        return json.loads(
            bytes(data).decode("utf-8"),
            object_pairs_hook=lambda pairs: _named(pairs, where),
            parse_constant=lambda name: _odd(where, f"holds {name}, which is no number of JSON"),
            parse_float=lambda text: _finite(text, where),
        )
    except BundleError:
        raise
    except RecursionError as error:
        raise refused(where, "nests too deep") from error
    except ValueError as error:
        raise refused(where, f"is no JSON: {error}") from error


def lines_of(data: bytes, where: str) -> Iterator[Any]:
    """The JSON values of a file that has one on each line."""
    start, number = 0, 1
    if data and not data.endswith(b"\n"):
        raise refused(where, "ends within a line")
    while start < len(data):
        end = data.index(b"\n", start)
        if end - start > LINE:
            raise refused(f"{where}:{number}", f"has {end - start:,} bytes", f"a line has at most {LINE:,}")
        yield json_of(memoryview(data)[start:end], f"{where}:{number}")
        start, number = end + 1, number + 1


def _named(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        _odd(where, f"names {name!r} twice")
    return found


def _finite(text: str, where: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _odd(where, f"holds {text[:40]}, which is too large")


def _odd(where: str, what: str) -> NoReturn:
    raise refused(where, what)


def yaml_of(data: bytes, where: str) -> Any:
    """A YAML value of mappings, lists, texts, finite numbers, true, false and null; BundleError for anything else.

    Anchors, tags, directives and further documents are refused while the file is read, before anything is built of it.
    """
    try:
        text = data.decode("utf-8")
        for depth, event in _levels(yaml.parse(text, Loader=yaml.SafeLoader), where):
            _check_event(event, depth, where)
        loader = yaml.SafeLoader(text)
        return _built(loader, loader.get_single_node(), where)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise refused(where, f"is no plain YAML: {' '.join(str(error).split())}") from error


def _levels(events: Iterator[Event], where: str) -> Iterator[tuple[int, Event]]:
    depth = 0
    for number, event in enumerate(events):
        if number > MOST:
            raise refused(where, f"holds more than {MOST:,} values")
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        yield depth, event


def _check_event(event: Event, depth: int, where: str) -> None:
    line = f"{where}:{event.start_mark.line + 1}" if event.start_mark else where
    if depth > DEEPEST:
        raise refused(line, f"nests deeper than {DEEPEST} levels")
    if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
        raise refused(line, "holds an anchor or an alias", "write every value where it stands")
    if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
        raise refused(line, f"holds the tag {event.tag}", "plain values need none")
    if isinstance(event, DocumentStartEvent) and (event.tags or event.version):
        raise refused(line, "holds a directive", "plain values need none")


def _built(loader: yaml.SafeLoader, node: Node | None, where: str) -> Any:
    if isinstance(node, MappingNode):
        return _mapping(loader, node, where)
    if isinstance(node, SequenceNode):
        return [_built(loader, part, where) for part in node.value]
    if not isinstance(node, ScalarNode) or node.tag not in SCALARS:
        raise refused(where, f"holds {getattr(node, 'value', None)!r}, which is no plain value", "put texts into quotes")
    if node.tag in NUMBERS and (len(node.value) > DIGITS or ":" in node.value):
        # 1:30 is a number to the base of 60, and a long one takes long to read.
        raise refused(where, f"holds {node.value[:DIGITS]!r}, which is no plain number", "put texts into quotes")
    value = loader.construct_object(node)
    if isinstance(value, float) and not math.isfinite(value):
        raise refused(where, f"holds {node.value}, which is no number to compute with")
    return value


def _mapping(loader: yaml.SafeLoader, node: MappingNode, where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode) or key.tag != f"{TAG}str":
            raise refused(where, "holds a name that is no text", "put names into quotes")
        if key.value in found:
            raise refused(f"{where}:{key.start_mark.line + 1}", f"names {key.value!r} twice")
        found[key.value] = _built(loader, value, where)
    return found
