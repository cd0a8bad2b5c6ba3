"""BERT models on ONNX Runtime, from a folder with `config.json` and `model.safetensors`; no torch, no `transformers`.

No text is padded, and each is read on one thread, so its states are the same to the last bit in every batch, in every process
and with any number of threads; many texts are read by several threads at once.
"""

import ctypes
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError
from rag.core.models.bert_graph import INPUTS, Shape, Weights, bert_graph, int8_graph

TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
"""Element types by their names in safetensors files."""
MANY = 32
"""Texts for which threads are started; a server's batches are smaller, and it has threads of its own."""


@dataclass(frozen=True)
class Bert:
    """A BERT model that is ready to run; threads can share it."""

    session: Any

    def states(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The last hidden states of texts of one length, shape (texts, tokens, dimensions), from their token numbers."""
        known = np.array(tokens, np.int64)
        found: NDArray[np.float32] = self.session.run(None, dict(zip(INPUTS, (known, np.zeros_like(known)), strict=True)))[0]
        return found

    def each(self, texts: Sequence[Sequence[int]], threads: int | None = None) -> Iterator[NDArray[np.float32]]:
        """The states of each text, shape (tokens, dimensions), read by `threads` at once; None for one on each processor."""
        if len(texts) < MANY:
            yield from self._together(texts)
            return
        if threads == 1:
            yield from (self.states([text])[0] for text in texts)
            return
        with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as pool:
            yield from pool.map(lambda text: self.states([text])[0], texts)

    def _together(self, texts: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """The states of a few texts. Texts of one length are read together: four of 25 tokens take two thirds of the time."""
        rows_of = defaultdict(list)
        for row, text in enumerate(texts):
            rows_of[len(text)].append(row)
        states: dict[int, NDArray[np.float32]] = {}
        for rows in rows_of.values():
            states |= zip(rows, self.states([texts[row] for row in rows]), strict=True)
        return [states[row] for row in range(len(texts))]


def built(folder: Path) -> Bert:
    """The model of a folder, ready to run; ConfigError as `opened`."""
    model, weights = bert_graph(*_parts(folder))
    made = opened(model, weights)
    del weights
    # The runtime has its own copy: what is freed goes back to the system where the C library can do that, 70 MB.
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
    return made


def rounded(folder: Path) -> bytes:
    """The ONNX model of a folder with weights that are rounded to whole numbers."""
    return int8_graph(*_parts(folder))


def _parts(folder: Path) -> tuple[Weights, Shape]:
    return mapped(folder / "model.safetensors"), Shape.of(json.loads((folder / "config.json").read_text("utf-8")))


def mapped(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file by name; they are read from the file when they are used, and cannot be changed."""
    data = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    header.pop("__metadata__", None)
    return {
        name: data[slice(*(start + place for place in each["data_offsets"]))].view(TYPES[each["dtype"]]).reshape(each["shape"])
        for name, each in header.items()
    }


def opened(model: bytes, weights: Weights | None = None) -> Bert:
    """An ONNX model ready to run, with the `weights` that its bytes only name.

    ConfigError if this processor or the installation cannot run it.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ConfigError("embedder", f"onnxruntime cannot be imported ({error})", "pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Without the pool of memory, a long text does not leave its megabytes behind.
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # each fault of the runtime has a class of its own, without a common base
        reason = f"ONNX Runtime {onnxruntime.__version__} cannot load the model: {str(error).strip().splitlines()[0]}"
        raise ConfigError("embedder", reason, "a processor with AVX, or embedder=hashing") from error
    # The session would keep the bytes of an int8 model, which it has read, for another provider.
    session._model_bytes = None
    return Bert(session)
