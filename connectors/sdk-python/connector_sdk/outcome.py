"""The results of an operation: what a function returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .http import Response


@dataclass
class File:
    """A file as an answer. `content` is a response whose body is the file, bytes, or text."""

    content: Response | bytes | str
    file_name: str
    content_type: str
    members: dict[str, Any] = field(default_factory=dict)
    digest: bool = False
    max_bytes: int = 0


def userinfo(id: str, email: str | None = None, username: str | None = None, name: str | None = None,
             picture: str | None = None, organization: dict[str, str | None] | None = None) -> dict[str, Any]:
    """The answer of an operation `userinfo`. Values that the service does not give are null."""
    company = organization and {"id": organization.get("id"), "name": organization.get("name")}
    data = {"id": id, "email": email, "username": username, "name": name, "picture": picture, "organization": company}
    return {"data": data, "meta": None}
