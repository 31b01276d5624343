"""Paths and URLs: what they name, by their looks alone."""

from __future__ import annotations

import os
from urllib.parse import urlparse

_STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_STORE_URLS = ("sqlite:", "postgresql:", "postgresql+psycopg:", "postgres:")


def is_store(place: str) -> bool:
    """Does a path or URL name a store of subscriptions?

    >>> is_store("subscriptions.db"), is_store("postgresql://host/alerts"), is_store("alerts.jsonl")
    (True, True, False)
    """
    return place.startswith(_STORE_URLS) or place.endswith(_STORE_SUFFIXES)


def absolute(place: str | os.PathLike[str]) -> str:
    """A path or URL as a process with another working folder takes it.

    >>> absolute("s3://bucket/alerts")
    's3://bucket/alerts'
    """
    text = os.fspath(place)
    return text if urlparse(text).scheme else os.path.abspath(text)
