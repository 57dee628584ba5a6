"""The faults that an operation raises."""

from __future__ import annotations

from typing import Any


class Fault(Exception):
    """An operation that did not succeed. The message says what happened and what to do."""

    def __init__(self, tag: str, message: str, **values: Any):
        super().__init__(message)
        self.tag = tag
        self.detail = message
        self.values = values

    @classmethod
    def invalid_input(cls, pointer: str, detail: str) -> Fault:
        """The input is wrong in a way that the fields cannot express (422).

        `pointer` is a JSON Pointer into the input.
        """
        return cls("invalid-input", detail, violations=[{"pointer": pointer, "detail": detail}])

    @classmethod
    def not_found(cls, detail: str, **members: Any) -> Fault:
        """The thing does not exist (404). `members` are added to the problem document."""
        return cls("not-found", detail, members=members)

    @classmethod
    def conflict(cls, detail: str, **members: Any) -> Fault:
        """The request conflicts with the state of the service, or is ambiguous (409).

        `members` are added to the problem document.
        """
        return cls("conflict", detail, members=members)

    @classmethod
    def upstream(cls, status: int, detail: str, body: str | None = None, retry_after_seconds: int | None = None) -> Fault:
        """The service refused or failed.

        Callers get `status` (400 to 599). `body` is JSON text of the service.
        """
        return cls("upstream", detail, status=status, body=body, retry_after_seconds=retry_after_seconds)

    @classmethod
    def failed(cls, detail: str) -> Fault:
        """A defect of the connector. Operator and caller see the text."""
        return cls("failed", detail)
