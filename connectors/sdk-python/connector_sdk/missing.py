"""What a component does not have: files, a terminal, sockets, and modules that were not imported at
the build.

Without these functions, the first use of one would end the call, without an exception.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import Any, NoReturn

#: The functions of `os` that need a file system or a process.
_OF_FILES = (
    "_exit", "abort", "access", "chdir", "close", "dup", "fdopen", "fstat", "fsync", "ftruncate", "getcwd", "isatty", "link", "listdir",
    "lseek", "lstat", "mkdir", "open", "pipe", "pread", "pwrite", "read", "readlink", "readv", "remove", "rename", "replace", "rmdir", "scandir", "stat",
    "symlink", "truncate", "unlink", "utime", "write", "writev",
)

#: The functions of `_socket` that ask the network, which `socket` calls.
_OF_NETWORK = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "gethostname", "getnameinfo")

_is_started = False


def refuse_missing() -> None:
    """Makes the functions of files raise an `OSError` as soon as `start` is called.

    Until then, while the module of the connector is loaded, they work. This runs before that.
    """
    builtins.open = io.open = _refusing(open)
    for name in _OF_FILES:
        if hasattr(os, name):
            setattr(os, name, _refusing(getattr(os, name)))
    if hasattr(os, "times"):
        os.times = _refusing(os.times)
    sys.stdin = _NoInput()
    # What is printed at the build is shown there.
    sys.stdout, sys.stderr = _Lines(sys.stdout, "info"), _Lines(sys.stderr, "error")


def start(write: Callable[[str, str], None]) -> None:
    """An operation runs: from now on there are no files, and lines are written with `write`, which
    takes a level of the log and a text.
    """
    global _is_started
    if not _is_started:
        _is_started = True
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not PathFinder] + [_NotInComponent]
        _refuse_sockets()
        _refuse_waiting()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Lines):
            stream.write_line = write


def end() -> None:
    """An operation has ended: the rest of a line that it has printed is written."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Lines):
            stream.end()


def _refuse_sockets() -> None:
    """A module that is not imported needs nothing."""
    module = sys.modules.get("_socket")
    if module is None:
        return
    message = "a connector has no sockets: it sends requests to its upstreams with `send`"

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.ENOSYS, message)

    for name in _OF_NETWORK:
        if hasattr(module, name):
            setattr(module, name, refuse)
    # The class of `socket` may be bound under other names, so it is changed itself.
    with suppress(KeyError, AttributeError):
        sys.modules["socket"].socket.__init__ = refuse
    for name in ("select", "poll"):
        if hasattr(sys.modules.get("select"), name):
            setattr(sys.modules["select"], name, refuse)
    for name in ("PollSelector", "SelectSelector"):
        if hasattr(sys.modules.get("selectors"), name):
            getattr(sys.modules["selectors"], name).__init__ = refuse


def _refusing(own: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if _is_started:
            raise OSError(errno.ENOSYS, f"a connector has no files and no processes, so it cannot call {own.__name__}()")
        return own(*arguments, **named)

    call.__name__, call.__doc__ = own.__name__, own.__doc__
    return call


def _refuse_waiting() -> None:
    """No other thread ends the waiting for a condition, which events and queues use."""
    threading = sys.modules.get("threading")
    if threading is None:
        return

    def wait(self: Any, timeout: float | None = None) -> bool:
        if timeout is None:
            raise RuntimeError("a connector has no threads, so nothing ends this waiting; give a timeout")
        time.sleep(max(timeout, 0))
        return False

    threading.Condition.wait = wait


class _Lines(io.TextIOBase):
    """Standard output or standard error: each line goes to the operator's log."""

    def __init__(self, own: Any, level: str):
        self._own = own
        self._level = level
        self._begun = ""
        #: Writes a line to the log. `None` at the build.
        self.write_line: Callable[[str, str], None] | None = None

    encoding = "utf-8"
    errors = "replace"

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if self.write_line is None:
            if self._own is not None:
                self._own.write(text)
            return len(text)
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self.write_line(self._level, line)
        return len(text)

    def flush(self) -> None:
        """A line that has only begun waits for its end."""
        if self.write_line is None and self._own is not None:
            self._own.flush()

    def end(self) -> None:
        if self._begun and self.write_line is not None:
            self.write_line(self._level, self._begun)
        self._begun = ""


class _NoInput(io.TextIOBase):
    """Standard input, which a connector does not have."""

    def readable(self) -> bool:
        return True

    def readline(self, *_: Any) -> NoReturn:
        raise OSError(errno.ENOSYS, "a connector has no standard input: its input are the arguments of the function")

    read = readline


class _NotInComponent:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> NoReturn:
        raise ModuleNotFoundError(
            f"No module named {name!r} in the component: it has those that are imported while the module of the connector is loaded. "
            "Import it at the top of a module.",
            name=name,
        )
