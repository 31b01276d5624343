"""Links between pages. An id that no path can hold goes into the query instead."""

from __future__ import annotations

from urllib.parse import quote, urlencode

_TAKEN = ("new", "edit", "by-id", ".", "..")
TWIN = ".json"


def address(folder: str, id: str) -> str:
    """The page of something in a folder of pages.

    >>> address("events", "shop/17")
    '/events/shop%2F17'
    >>> address("subscriptions", "new")
    '/subscriptions/by-id?id=new'
    """
    if id in _TAKEN or id.endswith(TWIN):
        return f"/{folder}/by-id?{urlencode({'id': id})}"
    return f"/{folder}/{quote(id, safe='', errors='replace')}"


def twin_path(path: str) -> str:
    """The path of the twin of a page.

    >>> twin_path("/"), twin_path("/feed")
    ('/index.json', '/feed.json')
    """
    return f"/index{TWIN}" if path == "/" else f"{path}{TWIN}"


def with_query(path: str, **values: object) -> str:
    """An address with those values that are something.

    >>> with_query("/feed", subscription="a b", before=None)
    '/feed?subscription=a+b'
    """
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


def local(path: str | None) -> str:
    r"""A path of this service to go to, `/` if it is anything else.

    Browsers leave out control characters and take a backslash for a slash, so these make a path foreign too.

    >>> local("/feed?before=3"), local("//evil.example"), local("/\\evil.example")
    ('/feed?before=3', '/', '/')
    """
    if not path or not path.startswith("/") or path.startswith("//") or "\\" in path:
        return "/"
    return path if path.isascii() and path.isprintable() and " " not in path else "/"
