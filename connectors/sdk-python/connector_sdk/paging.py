"""The items of a list that a service divides into pages, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .fault import Fault
from .http import Document, Request, Response, send
from .mistake import Mistake
from .services import progress as reports


def pages(
    request: Request,
    *,
    items: str,
    limit: int,
    cursor: str | None = None,
    link: str | None = None,
    page_number: int | None = None,
    offset: bool = False,
    last: str | None = None,
    while_: str | None = None,
    parameter: str | None = None,
    progress: str | None = None,
) -> Pages:
    """The items at the JSON Pointer `items` of each page, at most `limit`.

    `request` is for the first page. The other words are those of `pages` in a table. With
    `progress`, each page reports a message such as `120 users`.
    """
    ways = [way for way in (cursor, link, page_number, offset or None, last) if way is not None]
    if len(ways) != 1:
        raise Mistake("`pages` says how the next page is found: `cursor`, `link`, `page_number`, `offset=True` or `last`")
    if while_ is not None and last is None:
        raise Mistake("`while_` of `pages` is for `last`")
    if link is None and parameter is None:
        raise Mistake("`pages` has `parameter`, the name of the query parameter for the next page")
    return Pages(request, items, limit, cursor, link, page_number, offset, last, while_, parameter or "", progress)


class Pages:
    """The items, as an iterator. It requests a page when those of the previous one are used up."""

    def __init__(
        self,
        first: Request,
        items: str,
        limit: int,
        cursor: str | None,
        link: str | None,
        page_number: int | None,
        offset: bool,
        last: str | None,
        more: str | None,
        parameter: str,
        progress: str | None,
    ):
        self._first, self._items, self._limit = first, items, limit
        self._cursor, self._link, self._page_number, self._offset = cursor, link, page_number, offset
        self._last, self._more = last, more
        self._parameter, self._progress = parameter, progress
        self._page: Document | None = None
        self._length = self._used = self._given = self._read = self._pages = 0
        self._value: str | None = None
        self._upcoming: Request | None = self._numbered(0)
        self._upcoming.link = first.link

    @property
    def has_more(self) -> bool:
        """`True` if the service has more items than were given, because the limit was reached.

        Of a service that names no next page, it is not known before another page is read.
        """
        return self._upcoming is not None or self._used < self._length

    def __iter__(self) -> Iterator[Document]:
        while self._given < self._limit:
            if self._page is not None and self._used < self._length:
                item = self._page.item(self._used)
                self._used += 1
                self._given += 1
                yield item
            elif self._upcoming is None:
                return
            else:
                self._next(self._upcoming)

    def _next(self, request: Request) -> None:
        self._page, self._upcoming, self._length, self._used = None, None, 0, 0
        response = send(request).successful()
        document = response.document()
        page = document.pointer(self._items)
        # A page that has another value there, or nothing, has no items.
        if page is not None and page.text().startswith("["):
            self._page, self._length = page, len(page)
        self._read += self._length
        self._pages += 1
        self._upcoming = self._following(response, document)
        if self._progress is not None:
            read = min(self._read, self._limit)
            part = 1.0 if self._upcoming is None else read / max(self._limit, 1)
            reports.report(part, f"{read} {self._progress}")

    def _following(self, response: Response, document: Document) -> Request | None:
        """The request for the page after this one. `None` if this one is the last."""
        if self._link is not None:
            if self._link != "Link" and document.string(self._link) == "":
                return None
            found: Any = response.header_link("link") if self._link == "Link" else response.body_link(self._link)
            if found is None:
                return None
            followed = Request.follow(self._first.upstream, found)
            followed.headers = [*self._first.headers]
            followed.omit_credential = self._first.omit_credential
            return followed
        if self._last is not None:
            return self._after_last(self._last, document)
        if self._cursor is None:
            return self._numbered(self._pages) if self._length > 0 else None
        value = document.pointer(self._cursor)
        text = "" if value is None or value.text() == "null" else value.string("")
        cursor = value.text() if text is None else text
        return self._after(cursor) if cursor else None

    def _after_last(self, pointer: str, document: Document) -> Request | None:
        """The request for the page after the last item of this one. `None` if this page is the last."""
        more = None if self._more is None else document.pointer(self._more)
        if self._page is None or self._length == 0 or (self._more is not None and (more is None or more.text() != "true")):
            return None
        found = self._page.item(self._length - 1).pointer(pointer)
        value = None if found is None else found.value()
        if not isinstance(value, str | int | float) or isinstance(value, bool) or value == "":
            detail = f"The last item of a page has no text and no number at `{pointer}`, which leads to the next page."
            raise Fault.upstream(502, detail)
        return self._after(value if isinstance(value, str) else found.text())

    def _after(self, value: str) -> Request:
        """The first request, for the page after this value."""
        if value == self._value:
            raise Fault.upstream(502, "The service names the same next page again, so its list has no end.")
        self._value = value
        return self._again().query(self._parameter, value)

    def _numbered(self, page: int) -> Request:
        """The first request, for the page with this number, counted from 0."""
        if self._page_number is not None:
            return self._again().query(self._parameter, self._page_number + page)
        return self._again().query(self._parameter, self._read) if self._offset else self._again()

    def _again(self) -> Request:
        copied = Request(self._first.method, self._first.upstream, self._first.path)
        copied.headers = [*self._first.headers]
        copied.body, copied.omit_credential = self._first.body, self._first.omit_credential
        return copied
