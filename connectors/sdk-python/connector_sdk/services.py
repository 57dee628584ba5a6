"""Services of the gateway: the store, the log, the clock, the progress of a job."""

from __future__ import annotations

from .host import host


class storage:
    """A small key-value store: at most 1,024 keys of 1 to 256 bytes, and values of at most 64 KiB.

    Each connector has its own store in each tenant. If users connect accounts, each integration has
    its own store. A failure is a fault.
    """

    @staticmethod
    def get(key: str) -> str | None:
        """The text of a key; `None` if it is unknown."""
        found = host().storage_get(key)
        return None if found is None else found.decode()

    @staticmethod
    def get_bytes(key: str) -> bytes | None:
        return host().storage_get(key)

    @staticmethod
    def set(key: str, value: str | bytes, seconds: int | None = None) -> None:
        """Stores text or bytes. With `seconds`, the gateway deletes the value after that time."""
        host().storage_set(key, value.encode() if isinstance(value, str) else value, seconds)

    @staticmethod
    def delete(key: str) -> None:
        """Deletes a value. An unknown key is not an error."""
        host().storage_delete(key)


class log:
    """Lines for the operator's log, at most 4 KiB each, and at most 256 in an invocation."""

    @staticmethod
    def debug(message: str) -> None:
        host().log("debug", message)

    @staticmethod
    def info(message: str) -> None:
        host().log("info", message)

    @staticmethod
    def warn(message: str) -> None:
        host().log("warn", message)

    @staticmethod
    def error(message: str) -> None:
        host().log("error", message)


class clock:
    @staticmethod
    def now() -> int:
        """Milliseconds since 1970-01-01T00:00:00Z."""
        return host().now()

    @staticmethod
    def sleep(milliseconds: int) -> None:
        """Waits. The time counts to the deadline of the call, and not to the connector's CPU time.

        A connector that still waits at the deadline is ended. In a test, `Gateway` does not wait:
        its clock advances. `time.sleep` does the same in a component, and waits in a test.
        """
        host().sleep(milliseconds)


class progress:
    @staticmethod
    def report(fraction: float, message: str) -> None:
        """The part of a background operation that is done, 0 to 1, and a few words."""
        host().progress(fraction, message)
