"""Errors of delta-rs while it writes a table, as those that all other writers raise.

They have neither a number nor a path, so what kind of error it is shows when we write a file ourselves.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tamis.errors import WriteError
from tamis.snapshot.local import LocalStorage
from tamis.urls import without_secrets

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PROBE_BYTES = 1 << 16
"""More than an entry of a log takes, so that a disk that is too full for one is too full for the probe."""


@contextmanager
def naming_table_errors(folder: str, kind: str) -> Iterator[None]:
    """Turn an error within into one that names the table, and says whether the disk is full or read-only.

    Args:
        folder: The path or URL of the tables.
        kind: Which table.

    Raises:
        WriteError: Something within raised an `OSError`, or an error of delta-rs where nothing can be written.
    """
    from deltalake.exceptions import DeltaError

    path = without_secrets(f"{folder}/{kind}")
    try:
        yield
    except (OSError, DeltaError) as error:
        found = None if "://" in folder else _probe(Path(folder))
        if found is not None:
            raise WriteError(path, found.kind, found.detail) from error
        if isinstance(error, DeltaError):
            raise
        detail = " ".join(_COLOURS.sub("", str(error)).split())
        raise WriteError(path, "failed", detail) from error


def _probe(folder: Path) -> WriteError | None:
    """What is wrong with a folder of this machine, if anything is."""
    storage, name = LocalStorage(folder), f"probe-{uuid.uuid4().hex}"
    try:
        storage.write(name, [bytes(_PROBE_BYTES)])
        storage.remove(name)
    except WriteError as error:
        return error
    return None
