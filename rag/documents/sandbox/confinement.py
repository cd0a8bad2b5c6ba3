"""Limits for the process that parses files of unknown origin: memory, time, files, network, programs.

`confine` sets them from inside, before the first file, and they cannot be lifted again. What each gives:

- resource limits (every Unix): memory, open files, sizes of written files, core dumps; CPU time for each file.
- an audit hook (every system): Python code opens no socket, starts no process, writes nothing and reads only the installation.
  Machine code, such as that of a PDF library with a fault, is not seen by it.
- Landlock (Linux 5.13 and later): the kernel refuses files outside of the installation, every write, every program, from
  Linux 6.7 on TCP, and from 6.12 on signals to other processes; machine code cannot avoid it.
- a network namespace of its own (Linux, where users may make one): there is no network at all.
"""

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

FILES = 64
"""Open files."""
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/local/lib", "/usr/share", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
"""Places of the system that libraries read: shared libraries, fonts, time zones."""
REFUSED = ("socket.", "subprocess.", "os.", "shutil.", "pty.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.")
LISTED = ("os.listdir", "os.scandir", "os.walk", "os.fwalk")
ALLOWED = ("os.putenv", "os.unsetenv", "os.add_dll_directory")
"""Audit events below REFUSED that are allowed: those of LISTED within the installation, the others everywhere."""

PDEATHSIG, NO_NEW_PRIVILEGES = 1, 38
NEW_USER, NEW_NET = 0x10000000, 0x40000000
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls of Landlock, the same on every processor."""
READ_FILE, READ_FOLDER = 1 << 2, 1 << 3


def confine(installation: Sequence[str], memory: int, parent: int) -> None:
    """Limit this process for good to reading the files and folders of an installation, and to some bytes of address space.

    It ends when the process `parent` does (Linux; elsewhere when it next reads from it).
    """
    places = tuple(dict.fromkeys(os.path.realpath(place) for place in (*installation, *SYSTEM) if os.path.exists(place)))
    for kind, limit in (("AS", memory), ("NOFILE", FILES), ("FSIZE", 0), ("CORE", 0)):
        with suppress(ValueError):  # the limit is lower already, or this system has none of this kind
            resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (limit, limit))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)  # the parent ended before the line above
        libc.unshare(NEW_USER | NEW_NET)
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _allow_reading(libc, places)
    sys.dont_write_bytecode = True
    sys.addaudithook(lambda event, values: _audit(event, values, places))


def allow_seconds(seconds: int) -> None:
    """End this process (SIGXCPU) after more seconds of CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _allow_reading(libc: ctypes.CDLL, places: Sequence[str]) -> None:
    """Landlock: only these places may be read; all other rights over files that this kernel knows are taken away."""
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    files = (1 << (13, 14, 15, 15, 16)[min(version, 5) - 1]) - 1
    rights = struct.pack("QQQ", files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(CREATE_RULESET, rights, ctypes.c_size_t(size), 0)
    for place in places:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
        allowed = READ_FILE | READ_FOLDER if os.path.isdir(place) else READ_FILE
        libc.syscall(ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, descriptor), 0)
        os.close(descriptor)
    libc.syscall(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _audit(event: str, values: tuple[object, ...], places: Sequence[str]) -> None:
    """PermissionError for what a parser has no need of."""
    if event == "open":
        path, _, flags = values
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        if isinstance(path, str | bytes) and (writes or not _within(os.path.realpath(os.fsdecode(path)), places)):
            raise PermissionError("a parser may not open files")
    elif event in LISTED and isinstance(values[0], str | bytes) and _within(os.path.realpath(os.fsdecode(values[0])), places):
        return
    elif event.startswith(REFUSED) and event not in ALLOWED:
        raise PermissionError(f"a parser may not call {event}")


def _within(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(place + "/") for place in places)
