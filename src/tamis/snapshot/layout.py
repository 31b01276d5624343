"""Where in a snapshot each file is."""

from __future__ import annotations

import hashlib
import re

from tamis.snapshot.segment import ARRAYS, HEADER
from tamis.snapshot.storage import ASIDE, CLAIMS, LOCK

SEGMENTS = "segments"
TOMBSTONES = "tombstones"
STATISTICS = "statistics"
VERSIONS = "versions"
PINS = "pins"
_VERSION = re.compile(r"([0-9]{12})\.json")
_OWN_NAMES = {
    SEGMENTS: re.compile(r"[0-9a-f]{64}"),
    TOMBSTONES: re.compile(r"[0-9a-f]{64}\.bin"),
    STATISTICS: re.compile(r"[0-9a-f]{64}\.json"),
    VERSIONS: _VERSION,
    PINS: re.compile(r"[0-9a-f]{64}\.json"),
    ASIDE: re.compile(r"[0-9]+-[0-9a-f]{32}"),
    CLAIMS: re.compile(r"[0-9a-f]{32}"),
}


def version_file(version: int) -> str:
    """The manifest of a version."""
    return f"{VERSIONS}/{version:012}.json"


def version_of(name: str) -> int | None:
    """The version whose manifest has that name; None if it is no name of a manifest."""
    found = _VERSION.fullmatch(name)
    return None if found is None else int(found[1])


def segment_files(name: str) -> tuple[str, str]:
    """The two files of a segment: header, arrays."""
    return f"{SEGMENTS}/{name}/{HEADER}", f"{SEGMENTS}/{name}/{ARRAYS}"


def tombstones_file(name: str) -> str:
    """A file of tombstones."""
    return f"{TOMBSTONES}/{name}.bin"


def statistics_file(name: str) -> str:
    """A document of statistics."""
    return f"{STATISTICS}/{name}.json"


def pin_file(holder: str) -> str:
    """The pin of a holder, whatever characters its name has."""
    return f"{PINS}/{hashlib.sha256(holder.encode('utf-8', 'surrogatepass')).hexdigest()}.json"


def is_own(folder: str, name: str) -> bool:
    """Is it a name that we give in that folder? `folder` is empty for the snapshot's own."""
    if not folder:
        return name in _OWN_NAMES or name == LOCK
    return _OWN_NAMES[folder].fullmatch(name) is not None


def own_folders() -> list[str]:
    """All folders of a snapshot."""
    return list(_OWN_NAMES)
