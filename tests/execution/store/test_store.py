"""The store gives back what was written, also after kills, flipped bits and many writers."""

import errno
import hashlib
import io
import os
import pickle
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rag.core.errors import StoreError
from rag.execution.store import maintenance
from rag.execution.store.entry_format import decode, encode
from rag.execution.store.store import HEAD, Entry, Store

KEY = "stages/" + hashlib.sha256(b"key").hexdigest()

dtypes = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(),
    npst.unsigned_integer_dtypes(),
    npst.floating_dtypes(),
    npst.complex_number_dtypes(),
    npst.unicode_string_dtypes(),
    npst.byte_string_dtypes(),
    npst.datetime64_dtypes(),
)
arrays = dtypes.flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True) | st.sampled_from(["file", "allow_pickle", "self", "ids", "arr_0"])
texts = st.text(st.characters(codec="utf-8") | st.just("\ud800"), max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def example() -> Entry:
    return Entry({"x": np.arange(6, dtype=np.int32).reshape(2, 3), "y": np.array([0.5])}, {"cost": {"seconds": 1.5}})


def same(one: Entry, other: Entry) -> bool:
    pairs = [(one.arrays[name], other.arrays[name]) for name in one.arrays]
    equal = all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
    return equal and list(one.arrays) == list(other.arrays) and one.meta == other.meta


def run(code: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def waited(processes: "list[subprocess.Popen[str]]") -> list[str]:
    result = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), result
    return [out for out, _ in result]


# Round trips


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(names, arrays, max_size=3), st.dictionaries(texts, plain, max_size=3))
def test_what_is_decoded_is_what_was_encoded(found: dict[str, Any], meta: dict[str, Any]) -> None:
    entry = Entry(found, meta)
    assert same(entry, decode(encode(entry)))
    assert encode(entry) == encode(entry)


@pytest.mark.parametrize("size", [0, 3_000, 4_096, 100_000])
def test_the_json_is_read_alone_at_any_size(store: Store, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    meta, read = {"text": "ü" * size}, list[int | None]()
    store.write(KEY, Entry({"big": np.zeros(50_000)}, meta))
    bytes_of = store._bytes
    monkeypatch.setattr(store, "_bytes", lambda key, most=None: (read.append(most), bytes_of(key, most))[1])
    assert store.read_meta(KEY) == meta
    assert read == ([HEAD] if size < 1_000 else [HEAD, None])


def test_absent_is_none_and_overwriting_replaces(store: Store) -> None:
    assert store.read(KEY) is None
    assert store.read_meta(KEY) is None
    assert not store.has(KEY)
    store.write(KEY, Entry(meta={"n": 1}))
    store.write(KEY, Entry(meta={"n": 2}))
    assert store.has(KEY)
    assert store.read_meta(KEY) == {"n": 2}
    store.remove(KEY)
    store.remove(KEY)
    assert not store.has(KEY)


# Damage


def test_every_flipped_byte_and_every_truncation_is_detected(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.write(KEY, example())
    path = Path(store.path(KEY))
    sound = path.read_bytes()
    flipped = [
        bytes([*sound[:place], sound[place] ^ mask, *sound[place + 1 :]]) for place in range(len(sound)) for mask in (1, 255)
    ]
    for damaged in (*flipped, *(sound[:length] for length in range(len(sound))), sound + b"\0"):
        with pytest.raises(ValueError, match=r"."):
            decode(damaged)
    for damaged in (flipped[0], flipped[-1], b"", sound[:-1]):
        path.write_bytes(damaged)
        caplog.clear()
        assert store.read(KEY) is None
        assert not path.exists()
        assert [(record.levelname, KEY in record.message) for record in caplog.records] == [("WARNING", True)]


def test_damaged_json_is_detected_when_it_is_read_alone(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.write(KEY, Entry({"x": np.arange(3)}, {"t": "a" * 20}))
    path = Path(store.path(KEY))
    sound = path.read_bytes()
    start, end = sound.index(b"{"), sound.index(b"}") + 1
    for place in {*range(0, 8), *range(73, end, 3), end - 1}:
        damaged = bytearray(sound)
        damaged[place] ^= 0x01
        path.write_bytes(damaged)
        caplog.clear()
        assert store.read_meta(KEY) is None, place
        assert not path.exists()
        assert "damaged" in caplog.text
    for length in (0, 70, start, end - 1):
        path.write_bytes(sound[:length])
        assert store.read_meta(KEY) is None
        assert not path.exists()


# No code in, no code out


def test_python_objects_cannot_be_put_in(store: Store) -> None:
    for array in (np.array([{}], dtype=object), np.zeros(1, dtype=[("a", object)])):
        with pytest.raises(ValueError, match="Object arrays cannot be saved"):
            store.write(KEY, Entry({"x": array}))
    assert not store.has(KEY)


def test_a_pickle_with_a_true_checksum_is_not_opened(store: Store, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "exploded"),)

    loaded = np.empty(1, dtype=object)
    loaded[0] = Bomb()
    buffer = io.BytesIO()
    np.savez(buffer, x=loaded)
    for payload in (buffer.getvalue(), pickle.dumps(Bomb()), b"\x80\x04."):
        meta = b"{}"
        head = b"assay 1 %s %s 2\n" % (hashlib.sha256(payload).hexdigest().encode(), hashlib.sha256(meta).hexdigest().encode())
        path = Path(store.path(KEY))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + meta + payload)
        assert store.read(KEY) is None
    assert not (tmp_path / "exploded").exists()


# Many writers, killed writers


def test_threads_of_one_process_write_one_key_at_once(store: Store) -> None:
    def write(number: int) -> None:
        Store(store.root).write(KEY, Entry({"x": np.full(20_000, number)}, {"n": number}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(100)))
    assert store.read(KEY) is not None
    assert not list(Path(store.base).rglob("*.tmp"))


def temporary(store: Store, host: str, pid: int, age: float = 0.0) -> Path:
    path = Path(store.base) / "stages" / "ab" / f".{host}.{pid}.17.tmp"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_only_what_the_dead_left_is_cleared(store: Store) -> None:
    gone = run("pass")
    gone.communicate(timeout=30)
    dead = temporary(store, socket.gethostname(), gone.pid)
    mine = temporary(store, socket.gethostname(), os.getpid(), age=1e6)
    first = temporary(store, socket.gethostname(), 1, age=1e6)
    young = temporary(store, "another.host.example", 5)
    old = temporary(store, "another.host.example", 6, age=3700)
    foreign = dead.with_name(".notes.tmp")
    foreign.write_text("mine", encoding="utf-8")
    store.write(KEY, example())
    assert store.keys("stages") == [KEY]
    assert store.clear_orphans() == 2
    assert [path.exists() for path in (dead, mine, first, young, old, foreign)] == [False, True, True, True, False, True]
    assert store.clear_orphans() == 0
    assert store.read(KEY) is not None


# Disks


def test_a_full_disk_is_reported_and_leaves_no_half_entry(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [KeyboardInterrupt, OSError(errno.EDQUOT, "Disk quota exceeded")]
    monkeypatch.setattr(os, "fsync", Mock(side_effect=failures))
    with pytest.raises(KeyboardInterrupt):
        store.write(KEY, example())
    with pytest.raises(StoreError) as caught:
        store.write(KEY, example())
    assert caught.value.what == "the disk is full"
    assert "make room" in caught.value.remedy
    monkeypatch.undo()
    assert not store.has(KEY)
    assert not [path for path in Path(store.base).rglob("*") if path.is_file()]
    store.write(KEY, example())
    assert store.read(KEY) is not None


def test_a_store_where_a_file_lies_is_reported(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder", encoding="utf-8")
    store = Store(str(tmp_path / "store"))
    with pytest.raises(StoreError, match="cannot be written"):
        store.write(KEY, example())
    with pytest.raises(StoreError, match="cannot be written"), store.claim(KEY):
        pass


def test_too_little_memory_does_not_remove_an_entry(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(KEY, example())

    def broken(*_: object, **__: object) -> Any:
        raise MemoryError

    monkeypatch.setattr(np, "load", broken)
    with pytest.raises(MemoryError):
        store.read(KEY)
    monkeypatch.undo()
    assert store.read(KEY) is not None


# Behind a URL


@pytest.mark.parametrize("root", ["memory://assay-test/deep/er", "memory://"])
def test_a_store_behind_a_url(root: str, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(root)
    store.files.store.clear()
    assert store.keys("stages") == []
    for key in (KEY, "stages/abcd", "vectors/one-d/0123", "vectors/two-q/4567"):
        store.write(key, example())
    assert store.keys("stages") == sorted([KEY, "stages/abcd"])
    assert store.keys("vectors") == ["vectors/one-d/0123", "vectors/two-q/4567"]
    assert store.keys("vectors/one-d") == ["vectors/one-d/0123"]
    read = Store(root).read(KEY)
    assert read is not None
    assert same(read, example())
    assert store.read_meta(KEY) == example().meta
    assert store.has(KEY)
    assert store.size(KEY) == len(encode(example()))
    assert abs(store.written(KEY) - time.time()) < 60
    with store.claim(KEY):
        pass
    assert store.clear_orphans() == 0
    damaged = bytearray(store.files.cat_file(store.path(KEY)))
    damaged[-1] ^= 1
    store.files.pipe_file(store.path(KEY), bytes(damaged))
    assert store.read(KEY) is None
    assert "damaged" in caplog.text
    assert not store.has(KEY)
    store.remove("stages/abcd")
    store.remove("stages/abcd")
    assert store.read_meta("stages/abcd") is None
    found = maintenance.stats(store)["spaces"]
    assert (found["stages"]["entries"], found["vectors"]["entries"]) == (0, 2)
    assert maintenance.collect(store, 0)["removed"] == 0


def test_a_service_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store("memory://assay-failing")

    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError("503 slow down")

    monkeypatch.setattr(type(store.files), "pipe_file", broken)
    with pytest.raises(StoreError, match="503 slow down"):
        store.write(KEY, example())
    monkeypatch.undo()
    store.write(KEY, example())
    monkeypatch.setattr(type(store.files), "cat_file", broken)
    with pytest.raises(StoreError, match="503 slow down"):
        store.read(KEY)
    monkeypatch.undo()
    assert store.read(KEY) is not None


# Claims

HOLDER = """
import sys, time
from rag.execution.store.store import Store
with Store(sys.argv[1]).claim("stages/abc"):
    print("inside", flush=True)
    time.sleep(60)
"""


def test_a_claim_is_held_and_freed_by_the_death_of_its_holder(store: Store) -> None:
    holder = run(HOLDER, store.root)
    assert holder.stdout.readline() == "inside\n"
    waiting = run(HOLDER.replace("time.sleep(60)", ""), store.root)
    time.sleep(1.0)
    assert waiting.poll() is None, "two were inside at once"
    holder.kill()
    holder.communicate(timeout=10)
    assert waited([waiting]) == ["inside\n"]


def test_a_claim_may_be_taken_again_and_locks_stay_few(store: Store) -> None:
    for number in range(600):
        with store.claim(f"stages/{number}"):
            pass
    assert len(list((Path(store.base) / "locks" / "stages").iterdir())) <= 256
    assert maintenance.stats(store)["spaces"]["stages"]["entries"] == 0


# Looking after it


def test_results_of_other_code_are_counted_and_removed_on_request_only(store: Store) -> None:
    for number, code in enumerate(("today", "before", "")):
        store.write(f"stages/{number:064x}", Entry(meta={"cost": {"name": "chunk"} | ({"code": code} if code else {})}))
    store.write("vectors/abc-d/0123", example())
    old = sum(store.size(f"stages/{number:064x}") for number in (1, 2))
    assert maintenance.stats(store, "today")["old"] == {"entries": 2, "bytes": old}
    assert "old" not in maintenance.stats(store)
    assert maintenance.collect(store, 1)["removed"] == 0
    removed = maintenance.collect(store, 1, "today")
    assert (removed["removed"], removed["bytes"]) == (2, old)
    assert store.keys("stages") == [f"stages/{0:064x}"]
    assert store.keys("vectors")


def test_verification_finds_all_that_is_damaged_and_removes_it(store: Store) -> None:
    keys = [f"{space}/{number:064x}" for space in ("stages", "replies") for number in range(5)]
    for key in keys:
        store.write(key, example())
    rng = random.Random(1)
    bad = sorted(rng.sample(keys, 4))
    for key in bad:
        path = Path(store.path(key))
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 0x55
        path.write_bytes(data)
    found = maintenance.verify(store)
    assert (found["entries"], sorted(found["damaged"])) == (10, bad)
    assert not any(store.has(key) for key in bad)
    assert maintenance.verify(store) == {"store": store.root, "entries": 6, "damaged": []}


def test_collection_removes_old_stages_and_nothing_else(store: Store, tmp_path: Path) -> None:
    old, new, vectors = "stages/" + "a" * 64, "stages/" + "b" * 64, "vectors/one-d/" + "c" * 64
    for key in (old, new, vectors):
        store.write(key, example())
    for key in (old, vectors):
        os.utime(store.path(key), (time.time() - 10 * 86400,) * 2)
    dead = run("pass")
    dead.communicate(timeout=30)
    temporary(store, socket.gethostname(), dead.pid)
    assert maintenance.collect(store, 11)["removed"] == 0
    temporary(store, socket.gethostname(), dead.pid)
    found = maintenance.collect(store, 9)
    assert (found["removed"], found["bytes"], found["orphans"]) == (1, len(encode(example())), 1)
    assert [store.has(key) for key in (old, new, vectors)] == [False, True, True]


def test_another_who_removes_at_the_same_time_does_no_harm(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        store.write(f"stages/{number:064x}", example())
    listed: Callable[[Store, str], list[str]] = Store.keys

    def late(self: Store, space: str) -> list[str]:
        found = listed(self, space)
        for key in found[:1]:
            self.remove(key)
        return found

    monkeypatch.setattr(Store, "keys", late)
    assert maintenance.stats(store)["spaces"]["stages"]["entries"] == 3
    assert maintenance.verify(store)["damaged"] == []
    assert maintenance.collect(store, -1)["removed"] == 1
