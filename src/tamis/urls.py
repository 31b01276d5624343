"""Paths and URLs: what they name, decided from their text alone."""

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


def without_secrets(url: str) -> str:
    """A URL as it may be shown: without user and password, and without what follows `?`, which may hold keys, too.

    >>> without_secrets("s3://key:a/secret@bucket/alerts?region=eu-west-1"), without_secrets("s3://bucket/a@b")
    ('s3://bucket/alerts', 's3://bucket/a@b')
    """
    scheme, mark, rest = url.partition("://")
    rest = rest.partition("?")[0]
    user, _, place = rest.rpartition("@")
    # A secret with a slash that is not quoted is a mistake, and no reason to show it.
    is_user = "/" not in user or ":" in user
    return f"{scheme}{mark}{place if is_user else rest}" if mark else url


def absolute(place: str | os.PathLike[str]) -> str:
    """A path or URL as a process with another working folder takes it.

    >>> absolute("s3://bucket/alerts")
    's3://bucket/alerts'
    """
    text = os.fspath(place)
    return text if urlparse(text).scheme else os.path.abspath(text)
