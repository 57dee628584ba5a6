"""What a component does not have: files, and modules that were not imported at the build.

Without these functions, the first use of one would end the call, without an exception.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from typing import Any, NoReturn

#: The functions of `os` that need a file system.
_OF_FILES = (
    "access", "chdir", "getcwd", "link", "listdir", "lstat", "mkdir", "open", "readlink", "remove", "rename", "replace", "rmdir", "scandir",
    "stat", "symlink", "unlink", "utime",
)

_is_started = False


def refuse_missing() -> None:
    """Makes the functions of files raise an `OSError` as soon as `start` is called.

    Until then, while the module of the connector is loaded, they work. This runs before that.
    """
    builtins.open = io.open = _refusing(open)
    for name in _OF_FILES:
        if hasattr(os, name):
            setattr(os, name, _refusing(getattr(os, name)))


def start() -> None:
    """An operation runs: from now on there are no files."""
    global _is_started
    if not _is_started:
        _is_started = True
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not PathFinder] + [_NotInComponent]


def _refusing(own: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if _is_started:
            raise OSError(errno.ENOSYS, f"a connector has no files, so it cannot call {own.__name__}()")
        return own(*arguments, **named)

    call.__name__, call.__doc__ = own.__name__, own.__doc__
    return call


class _NotInComponent:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> NoReturn:
        raise ModuleNotFoundError(
            f"No module named {name!r} in the component: it has those that are imported while the module of the connector is loaded. "
            "Import it at the top of a module.",
            name=name,
        )
