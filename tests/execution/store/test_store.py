"""The store gives back what was written, also after kills, flipped bits and many writers."""

import errno
import hashlib
import io
import json
import math
import os
import pickle
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rag.core.errors import StoreError
from rag.execution.store import maintenance
from rag.execution.store.entry_format import decode, encode
from rag.execution.store.store import Entry, Store

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


@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_in_memory_does_not_change_values(store: Store, order: Any) -> None:
    values = np.arange(12, dtype=">i4").reshape(3, 4, order=order)
    store.write(KEY, Entry({"v": values[:, ::2], "turned": values.T}))
    read = store.read(KEY)
    assert read is not None
    np.testing.assert_array_equal(read.arrays["v"], values[:, ::2])
    np.testing.assert_array_equal(read.arrays["turned"], values.T)


def test_a_json_value_may_be_not_a_number(store: Store) -> None:
    store.write(KEY, Entry(meta={"cost": math.nan, "most": math.inf}))
    meta = store.read_meta(KEY)
    assert meta is not None
    assert math.isnan(meta["cost"])
    assert meta["most"] == math.inf


@pytest.mark.parametrize("size", [0, 10, 3_000, 4_096, 5_000, 100_000])
def test_the_json_is_read_alone_at_any_size(store: Store, size: int) -> None:
    meta = {"text": "ü" * size}
    store.write(KEY, Entry({"big": np.zeros(50_000)}, meta))
    assert store.read_meta(KEY) == meta
    assert store.read(KEY).meta == meta  # type: ignore[union-attr]


def test_the_json_is_read_without_its_arrays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(KEY, Entry({"big": np.zeros(1_000_000)}, {"n": 1}))
    read: list[int] = []
    plain_open = open

    def watched(path: Any, mode: str) -> Any:
        file = plain_open(path, mode)
        inner = file.read
        file = type("File", (), {"read": lambda self, n: read.append(n) or inner(n), "__enter__": lambda self: self})()
        type(file).__exit__ = lambda self, *gone: None  # type: ignore[attr-defined]
        return file

    monkeypatch.setattr("builtins.open", watched)
    assert store.read_meta(KEY) == {"n": 1}
    assert read == [4096]


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


def test_every_flipped_byte_is_detected(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.write(KEY, example())
    path = Path(store.path(KEY))
    sound = path.read_bytes()
    for place in range(len(sound)):
        for mask in (0x01, 0x20, 0xFF):
            damaged = bytearray(sound)
            damaged[place] ^= mask
            with pytest.raises(ValueError, match=r"."):
                decode(bytes(damaged))
    for place in range(0, len(sound), 7):
        damaged = bytearray(sound)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        caplog.clear()
        assert store.read(KEY) is None, place
        assert not path.exists()
        assert [(record.levelname, KEY in record.message) for record in caplog.records] == [("WARNING", True)]


def test_every_truncation_is_detected(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.write(KEY, example())
    path = Path(store.path(KEY))
    sound = path.read_bytes()
    for length in range(len(sound)):
        with pytest.raises(ValueError, match=r"."):
            decode(sound[:length])
    with pytest.raises(ValueError, match="checksum"):
        decode(sound + b"\0")
    for length in (0, 1, 100, len(sound) - 1):
        path.write_bytes(sound[:length])
        caplog.clear()
        assert store.read(KEY) is None
        assert not path.exists()
        assert "damaged" in caplog.text


def test_a_truncation_that_ends_with_the_json_is_detected() -> None:
    sound = encode(example())
    bare = encode(Entry(meta=example().meta))
    meta = len(bare) - bare.index(b"{")
    with pytest.raises(ValueError, match="arrays"):
        decode(sound[: sound.index(b"{") + meta])


@pytest.mark.parametrize("size", [10, 10_000])
def test_damaged_json_is_detected_when_it_is_read_alone(store: Store, size: int, caplog: pytest.LogCaptureFixture) -> None:
    store.write(KEY, Entry({"x": np.arange(3)}, {"t": "a" * size}))
    path = Path(store.path(KEY))
    sound = path.read_bytes()
    start, end = sound.index(b"{"), sound.index(b"}") + 1
    for place in {*range(0, 8), *range(73, start), *range(start, end, max(1, size // 10)), end - 1}:
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


def test_another_entry_in_its_place_is_only_what_it_says(store: Store) -> None:
    """A key does not stand in its entry: the checksum guards bytes, the name guards meaning."""
    other = KEY[:-1] + ("0" if KEY[-1] != "0" else "1")
    store.write(KEY, example())
    assert store.read(other) is None


# No code in, no code out


def objects() -> list[Any]:
    record = np.zeros(1, dtype=[("a", object)])
    return [np.array([{}], dtype=object), np.array([[], [1]], dtype=object), record, np.array([None])]


@pytest.mark.parametrize("number", range(4))
def test_python_objects_cannot_be_put_in(store: Store, number: int) -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        store.write(KEY, Entry({"x": objects()[number]}))
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
        head = b"assay 1 %s %s 2\n" % (
            hashlib.sha256(payload).hexdigest().encode(),
            hashlib.sha256(meta).hexdigest().encode(),
        )
        path = Path(store.path(KEY))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + meta + payload)
        assert store.read(KEY) is None
    assert not (tmp_path / "exploded").exists()


# Many writers, killed writers

WRITER = """
import sys, numpy as np
from rag.execution.store.store import Entry, Store
store, key = Store(sys.argv[1]), sys.argv[2]
for turn in range(15):
    n = int(sys.argv[3]) * 1000 + turn
    store.write(key, Entry({"x": np.full(5000, n)}, {"n": n}))
    read = store.read(key)
    assert read is not None and (read.arrays["x"] == read.meta["n"]).all()
    assert store.read_meta(key) is not None and store.has(key)
    assert key in store.keys("stages")
"""


def test_four_processes_write_one_key_at_once(store: Store) -> None:
    waited([run(WRITER, store.root, KEY, number) for number in range(4)])
    entry = store.read(KEY)
    assert entry is not None
    assert (entry.arrays["x"] == entry.meta["n"]).all()
    assert store.clear_orphans() == 0
    assert [path.name for path in Path(store.base).rglob("*") if path.is_file()] == [KEY.split("/")[1]]


def test_threads_of_one_process_write_one_key_at_once(store: Store) -> None:
    def write(number: int) -> None:
        Store(store.root).write(KEY, Entry({"x": np.full(20_000, number)}, {"n": number}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(100)))
    assert store.read(KEY) is not None
    assert not list(Path(store.base).rglob("*.tmp"))


KILLED = """
import os, random, signal, sys, time, numpy as np
from rag.execution.store.store import Entry, Store
store = Store(sys.argv[1])
rng = random.Random(3)
for kill in range(25):
    hear, tell = os.pipe()
    child = os.fork()
    if not child:
        turn = 0
        while True:
            name = f"{turn % 20:064x}"
            store.write(f"stages/{name}", Entry({"x": np.full(30_000, kill)}, {"kill": kill}))
            os.write(tell, b"!") if not turn else None
            turn += 1
    os.read(hear, 1)
    time.sleep(rng.random() * 0.03)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(child)
"""


def test_twenty_five_kills_leave_nothing_unreadable_and_no_left_overs(store: Store) -> None:
    (result,) = waited([run(KILLED, store.root)])
    assert len(result.split()) == 25
    keys = store.keys("stages")
    assert keys
    assert all(store.read(key) is not None for key in keys), "an entry was half there"
    assert maintenance.verify(store)["damaged"] == []
    left = list(Path(store.base).rglob(".*.tmp"))
    assert store.clear_orphans() == len(left)
    assert not list(Path(store.base).rglob(".*.tmp"))
    assert store.keys("stages") == keys


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


def test_a_write_that_fails_leaves_no_temporary(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for stop in (KeyboardInterrupt, SystemExit):

        def sync(number: int, stop: type[BaseException] = stop) -> None:
            raise stop

        monkeypatch.setattr(os, "fsync", sync)
        with pytest.raises(stop):
            store.write(KEY, example())
    assert not [path for path in Path(store.base).rglob("*") if path.is_file()]


# Disks


@pytest.mark.parametrize(("number", "printed"), [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "the disk is full")])
def test_a_full_disk_is_reported_and_leaves_no_half_entry(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int, printed: str
) -> None:
    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError) as caught:
        store.write(KEY, example())
    assert caught.value.what == printed
    assert "make room" in caught.value.remedy
    monkeypatch.undo()
    assert not store.has(KEY)
    assert not [path for path in Path(store.base).rglob("*") if path.is_file()]
    store.write(KEY, example())
    assert store.read(KEY) is not None


def test_a_write_that_the_system_cuts_short_leaves_the_old_entry(store: Store) -> None:
    """A limit on file sizes is the full disk that needs no second disk: the write ends in the middle."""
    store.write(KEY, example())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(StoreError, match="cannot be written"):
            store.write(KEY, Entry({"x": np.zeros(100_000)}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    read = store.read(KEY)
    assert read is not None
    assert same(read, example())
    assert not list(Path(store.base).rglob("*.tmp"))


def test_a_store_where_a_file_lies_is_reported(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder", encoding="utf-8")
    store = Store(str(tmp_path / "store"))
    with pytest.raises(StoreError, match="cannot be written"):
        store.write(KEY, example())
    with pytest.raises(StoreError, match="cannot be written"), store.claim(KEY):
        pass


@pytest.mark.parametrize("method", ["read", "read_meta"])
@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error"), RuntimeError("net")]
)
def test_what_cannot_be_reached_is_not_damaged(
    store: Store, monkeypatch: pytest.MonkeyPatch, method: str, error: Exception
) -> None:
    store.write(KEY, example())

    def broken(*_: object) -> Any:
        raise error

    monkeypatch.setattr("builtins.open", broken)
    with pytest.raises(StoreError, match="cannot be read"):
        getattr(store, method)(KEY)
    monkeypatch.undo()
    assert store.read(KEY) is not None


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


@pytest.mark.parametrize("root", ["memory://assay-test", "memory://assay-test/deep/er", "memory://"])
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


def test_a_local_store_in_every_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for root in (str(tmp_path / "a"), f"{tmp_path / 'a'}/", "a", "./a", f"file://{tmp_path / 'a'}"):
        store = Store(root)
        assert store.local
        assert store.base == str(tmp_path / "a")
    monkeypatch.chdir("/")
    store.write(KEY, example())
    assert (tmp_path / store.path(KEY)).is_file()


@pytest.mark.parametrize("root", ["nope://bucket/x", "gopher://x"])
def test_an_address_that_nothing_opens_is_reported(root: str) -> None:
    with pytest.raises(StoreError, match=r"store: .*cannot be opened"):
        Store(root)


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

CLAIMER = """
import os, sys, time
from pathlib import Path
from rag.execution.store.store import Store
store, inside = Store(sys.argv[1]), Path(sys.argv[2])
for turn in range(15):
    with store.claim("stages/abc"):
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        time.sleep(0.001)
        inside.unlink()
"""


def test_two_processes_are_never_inside_one_claim(store: Store, tmp_path: Path) -> None:
    waited([run(CLAIMER, store.root, tmp_path / "inside") for _ in range(4)])


HOLDER = """
import sys, time
from rag.execution.store.store import Store
with Store(sys.argv[1]).claim("stages/abc"):
    print("inside", flush=True)
    time.sleep(60)
"""


def test_a_claim_is_held_and_freed_by_the_death_of_its_holder(store: Store) -> None:
    holder = run(HOLDER, store.root)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "inside\n"
    waiting = run(HOLDER.replace("time.sleep(60)", ""), store.root)
    time.sleep(1.0)
    assert waiting.poll() is None, "two were inside at once"
    holder.kill()
    holder.communicate(timeout=10)
    assert waited([waiting]) == ["inside\n"]


def test_a_claim_is_freed_by_an_error_inside_and_hides_it_not(store: Store) -> None:
    for _ in range(2):
        with pytest.raises(OSError, match="mine"), store.claim(KEY):
            raise OSError("mine")


def test_a_claim_may_be_taken_again_and_locks_stay_few(store: Store) -> None:
    for number in range(600):
        with store.claim(f"stages/{number}"):
            pass
    assert len(list((Path(store.base) / "locks" / "stages").iterdir())) <= 256
    assert maintenance.stats(store)["spaces"]["stages"]["entries"] == 0


# Looking after it


def test_statistics_count_entries_and_bytes(store: Store) -> None:
    assert all(space == {"entries": 0, "bytes": 0} for space in maintenance.stats(store)["spaces"].values())
    sizes = []
    for number in range(3):
        store.write(f"stages/{number:064x}", Entry({"x": np.zeros(number * 10)}))
        sizes.append(os.path.getsize(store.path(f"stages/{number:064x}")))
    store.write("vectors/abc-d/0123", example())
    found = maintenance.stats(store)
    assert found["spaces"]["stages"] == {"entries": 3, "bytes": sum(sizes)}
    assert found["spaces"]["vectors"]["entries"] == 1
    json.dumps(found, allow_nan=False)


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


@pytest.mark.parametrize(
    ("look", "printed"),
    [
        (lambda store: maintenance.stats(store)["spaces"]["stages"]["entries"], 2),
        (lambda store: maintenance.verify(store)["damaged"], []),
        (lambda store: maintenance.collect(store, -1)["removed"], 2),
    ],
)
def test_another_who_removes_at_the_same_time_does_no_harm(
    store: Store, monkeypatch: pytest.MonkeyPatch, look: Callable[[Store], Any], printed: Any
) -> None:
    for number in range(4):
        store.write(f"stages/{number:064x}", example())
    listed: Callable[[Store, str], list[str]] = Store.keys

    def late(self: Store, space: str) -> list[str]:
        found = listed(self, space)
        for key in found[:2]:
            self.remove(key)
        return found

    monkeypatch.setattr(Store, "keys", late)
    assert look(store) == printed
