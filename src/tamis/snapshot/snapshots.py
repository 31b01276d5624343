"""The versions under one URL: publishing, opening, pinning.

A version is a manifest, written last and never changed; what it names is written before it and never changed
either. So a reader sees a version whole or not at all, whatever happens to the publisher. Version N + 1 is made
from version N, by one publisher: the second one is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from tamis.arrays import I32
from tamis.errors import SnapshotError
from tamis.snapshot import tombstones as dead_slots
from tamis.snapshot.documents import canonical, digest, seal, unseal
from tamis.snapshot.garbage_collection import (
    GRACE_SECONDS,
    KEEP_VERSIONS,
    OLDER_THAN_SECONDS,
    CollectionResult,
    forget,
)
from tamis.snapshot.layout import (
    PINS,
    SEGMENTS,
    VERSIONS,
    is_own,
    pin_file,
    segment_files,
    statistics_file,
    tombstones_file,
    version_file,
    version_of,
)
from tamis.snapshot.manifest import Manifest, ManifestEntry, read_manifest, write_manifest
from tamis.snapshot.segment import Header, Segment, open_segment, read_header
from tamis.snapshot.storage import Content, open_storage
from tamis.snapshot.verification import Damage, verify

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_PIN_KIND = "tamis.snapshot.pin"
_PIN_FORMAT = 1
_ATTEMPTS = 10
_CACHE_BYTES = 20 << 30


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotPart:
    """A segment to publish.

    Attributes:
        segment: Fresh, or opened from anywhere.
        slots: How many subscriptions it has, the dead ones included.
        dead: The slots that are dead, in any order.
        event_type: The name of the event type that they are for.
    """

    segment: Segment
    slots: int
    dead: npt.ArrayLike = field(default_factory=lambda: np.empty(0, np.int32))
    event_type: str = "event"


@dataclass(frozen=True, slots=True)
class Pin:
    """A version that must not be removed.

    Attributes:
        version: The version.
        created: When it was pinned.
    """

    version: int
    created: datetime


class Snapshots:
    """The versions under one URL.

    Many may read at the same time as one publishes. Methods may be called from several threads.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        filesystem: FileSystem | None = None,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int = _CACHE_BYTES,
    ) -> None:
        """Nothing is read or made yet.

        Args:
            url: The path of a folder, or a URL: `file://`, `s3://`, `hdfs://`, ...
            filesystem: A pyarrow file system in which `url` is a path, for what a URL cannot say.
            cache: The folder into which segments are fetched; by default `$TAMIS_CACHE`, else `tamis` in the
                user's cache folder. A folder of this machine is mapped in place unless a cache is given.
            cache_bytes: How large the cache may grow, unless more than that is in use.
        """
        self.storage = open_storage(url, filesystem)
        self._cache = None if cache is None else Path(cache)
        self._cache_bytes = cache_bytes
        self._open: WeakValueDictionary[str, Segment] = WeakValueDictionary()

    @property
    def url(self) -> str:
        """Where the versions are; without passwords."""
        return self.storage.where("").rstrip("/")

    @property
    def place(self) -> str:
        """As `url`, but the same however a folder of this machine is spelt."""
        return self.url if self.storage.local is None else str(self.storage.local.resolve())

    # --- versions ----------------------------------------------------------------------------------------

    def versions(self) -> list[int]:
        """All versions that are there, the oldest first."""
        found = (version_of(each.name) for each in self.storage.listing(VERSIONS))
        return sorted(version for version in found if version is not None)

    def latest(self) -> int | None:
        """The newest version; None if there is none yet."""
        return max(self.versions(), default=None)

    def manifest(self, version: int | None = None) -> Manifest:
        """What a version is made of; the newest by default.

        Raises:
            SnapshotError: There is no such version, or its manifest is damaged, foreign or newer.
        """
        if version is not None:
            return self._manifest(version)
        while (newest := self.latest()) is not None:
            try:
                return self._manifest(newest)
            except SnapshotError as error:
                if error.kind != "missing" or self.latest() == newest:
                    raise
        msg = "there is no version of a snapshot here; `tamis snapshot build` makes one"
        raise SnapshotError(self.url, msg, "missing")

    def publish(
        self,
        parts: Sequence[SnapshotPart],
        *,
        parent: int | None,
        event_types: Mapping[str, Mapping[str, Any]],
        extra: Mapping[str, Any] | None = None,
        statistics: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Make a version of these segments. Only those that are not there yet are written.

        Args:
            parts: The segments; none is fine.
            parent: The version that it is made from, which must still be the newest; None for the first.
            event_types: By name, the description of each event type, for JSON.
            extra: Anything else to record, for JSON.
            statistics: A document to keep beside the version, for JSON.

        Raises:
            SnapshotError: Another process published meanwhile (`kind` is "conflict"): nothing was published.
        """
        self._check_parent(parent)
        files: dict[str, tuple[int, Segment | bytes]] = {}
        entries = tuple(self._entry(part, files) for part in parts)
        statistics_name = None
        if statistics is not None:
            document = canonical(dict(statistics))
            statistics_name = digest(document)
            files[statistics_file(statistics_name)] = (len(document), document)
        types = {name: dict(each) for name, each in event_types.items()}
        described = json.loads(canonical([types, dict(extra or {})]))
        for _ in range(_ATTEMPTS):
            for path in self._lacking(files):
                self._write(path, files[path][1])
            with self.storage.exclusive() as check_alone:
                self._check_parent(parent)
                if self._lacking(files):
                    continue  # collected since, as nothing named them yet
                version = 1 if parent is None else parent + 1
                now = datetime.now(UTC)
                manifest = Manifest(version, parent, now, described[0], entries, described[1], statistics_name)
                document = write_manifest(manifest)
                check_alone()
                if not self.storage.create(version_file(version), document):
                    raise self._conflict(parent, version)
                return manifest
        raise SnapshotError(self.url, "what is published here is collected at once, again and again", "busy")

    # --- what a version is made of -----------------------------------------------------------------------

    def segment(self, name: str) -> Segment:
        """A segment, mapped: in place from a folder of this machine, else from the cache, fetched if need be.

        Checksums are verified when it is fetched; otherwise the header and the length only, which takes no time.

        Raises:
            SnapshotError: It is missing, damaged, foreign or newer.
        """
        found = self._open.get(name)
        if found is None:
            if self.storage.local is not None and self._cache is None:
                found = open_segment(self.storage.local / SEGMENTS / name, name)
            else:
                from tamis.snapshot.cache import SegmentCache

                found = SegmentCache(self._cache, self._cache_bytes).segment(name, self.storage)
            self._open[name] = found
        return found

    def header(self, name: str) -> Header:
        """What a segment is made of; nothing is fetched or mapped.

        Raises:
            SnapshotError: It is missing, damaged, foreign or newer.
        """
        path, _ = segment_files(name)
        return read_header(self._read(path), name, self.storage.where(path))

    def tombstones(self, entry: ManifestEntry) -> I32:
        """The dead slots of an entry, in order.

        Raises:
            SnapshotError: The file is missing or damaged.
        """
        if entry.tombstones is None:
            return np.empty(0, np.int32)
        path = tombstones_file(entry.tombstones)
        return dead_slots.decode(self._read(path), entry, self.storage.where(path))

    def statistics(self, version: int | None = None) -> dict[str, Any] | None:
        """The statistics beside a version, if there are any.

        Raises:
            SnapshotError: The version or the document is missing or damaged.
        """
        name = self.manifest(version).statistics
        if name is None:
            return None
        path = statistics_file(name)
        data = self._read(path)
        if digest(data) != name:
            message = "damaged: its checksum is not that of its content"
            raise SnapshotError(self.storage.where(path), message, "damaged")
        document: dict[str, Any] = json.loads(data)
        return document

    # --- pins --------------------------------------------------------------------------------------------

    def pin(self, holder: str, version: int) -> int:
        """Keep a version from being forgotten, durably, until `unpin`.

        A holder has one pin. If it has one already, that one stays, so that a holder that starts again after a
        crash gets what it had.

        Returns:
            The version that the holder has pinned.

        Raises:
            SnapshotError: There is no such version.
        """
        path = pin_file(holder)
        if self.latest() is None:
            self._manifest(version)  # says that there is none, and makes nothing
        with self.storage.exclusive() as check_alone:
            held = self._pin(path)
            if held is not None:
                return held[1].version
            self._manifest(version)
            content = {"holder": holder, "version": version, "created": datetime.now(UTC).isoformat()}
            check_alone()
            self.storage.create(path, seal(_PIN_KIND, _PIN_FORMAT, content))
        return version

    def unpin(self, holder: str) -> None:
        """Remove the pin of a holder, if it has one."""
        self.storage.remove(pin_file(holder))

    def pins(self) -> dict[str, Pin]:
        """All pins, by holder."""
        names = [each.name for each in self.storage.listing(PINS) if is_own(PINS, each.name)]
        found = [self._pin(f"{PINS}/{name}") for name in names]
        return dict(each for each in found if each is not None)

    # --- maintenance ----------------------------------------------------------------------------------------

    def forget(
        self,
        *,
        keep_versions: int = KEEP_VERSIONS,
        older_than_seconds: float = OLDER_THAN_SECONDS,
        grace_seconds: float = GRACE_SECONDS,
        dry_run: bool = False,
    ) -> CollectionResult:
        """Remove old versions, then every file that no version names any more, and what killed writers left.

        The newest version and pinned ones stay, whatever the arguments.

        Args:
            keep_versions: So many of the newest stay.
            older_than_seconds: A version stays until it has not been the newest for that long.
            grace_seconds: A file that no version names stays for that long, as a publisher may be about to name
                it.
            dry_run: Only say what would be removed.

        Raises:
            SnapshotError: A manifest or a pin is damaged, so what it needs is unknown.
        """
        return forget(self, keep_versions, older_than_seconds, grace_seconds, dry_run=dry_run)

    def verify(self, version: int | None = None) -> list[Damage]:
        """Read everything and compare it with its checksum: one version, or all, the pins and foreign files."""
        return list(verify(self, version))

    # --- inside ------------------------------------------------------------------------------------------

    def _read(self, path: str) -> bytes:
        try:
            return self.storage.read(path)
        except FileNotFoundError as error:
            raise SnapshotError(self.storage.where(path), "missing", "missing") from error

    def _manifest(self, version: int) -> Manifest:
        path = version_file(version)
        try:
            data = self.storage.read(path)
        except FileNotFoundError as error:
            there = ", ".join(map(str, self.versions()[-10:])) or "none"
            message = f"there is no version {version}; the newest are: {there}"
            raise SnapshotError(self.url, message, "missing") from error
        return read_manifest(data, version, self.storage.where(path))

    def _pin(self, path: str) -> tuple[str, Pin] | None:
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            return None
        file = self.storage.where(path)
        document = unseal(data, _PIN_KIND, _PIN_FORMAT, file)
        try:
            created = datetime.fromisoformat(document["created"])
            return str(document["holder"]), Pin(int(document["version"]), created)
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(file, f"foreign: not a pin: {error!r}", "foreign") from error

    def _entry(self, part: SnapshotPart, files: dict[str, tuple[int, Segment | bytes]]) -> ManifestEntry:
        """The entry of a part; adds the files that it needs."""
        segment = part.segment
        dead = dead_slots.sorted_slots(part.dead, part.slots)
        header, arrays = segment_files(segment.name)
        # The header comes last: where it is, the segment is whole.
        files[arrays] = (segment.bytes, segment)
        files[header] = (len(segment.header()), segment.header())
        name = None
        if len(dead):
            content = dead_slots.encode(dead, part.slots)
            name = digest(content)
            files[tombstones_file(name)] = (len(content), content)
        return ManifestEntry(segment.name, part.slots, segment.bytes, len(dead), name, part.event_type)

    def _lacking(self, files: Mapping[str, tuple[int, Segment | bytes]]) -> list[str]:
        sizes = self.storage.sizes(list(files))
        return [path for path, size in zip(files, sizes, strict=True) if size != files[path][0]]

    def _write(self, path: str, content: Segment | bytes) -> None:
        pieces: Content = content.content() if isinstance(content, Segment) else [content]
        self.storage.write(path, pieces)

    def _check_parent(self, parent: int | None) -> None:
        newest = self.latest()
        if newest != parent:
            raise self._conflict(parent, newest)

    def _conflict(self, parent: int | None, newest: int | None) -> SnapshotError:
        made = "as the first version" if parent is None else f"from version {parent}"
        there = "there is none" if newest is None else f"the newest is version {newest}"
        message = f"cannot publish {made}: {there}; another publisher was there"
        return SnapshotError(self.url, message, "conflict")
