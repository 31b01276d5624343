"""A segment: named arrays and a description, immutable, named by its content.

Stored, it is a folder of two files: `arrays.bin` has the arrays one after another, each at a multiple of 64 bytes,
so that one memory map serves them all; `segment.json` has the description and, for every array, its place and its
sha256. The name is the sha256 of `segment.json`, so it covers everything, and checking the small file at open ties
the arrays to the name without reading them. What the arrays mean is no business of this package.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import AnyArray
from tamis.errors import SnapshotError
from tamis.snapshot.documents import canonical, digest, parse

KIND = "tamis.segment"
FORMAT = 1
HEADER = "segment.json"
ARRAYS = "arrays.bin"
_ALIGNMENT = 64
_KINDS = "biufS"
_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """Where an array stands in `arrays.bin`.

    Attributes:
        name: Its name in the segment.
        dtype: As numpy writes it: `<i4`.
        shape: Its lengths; row-major.
        offset: Its first byte, a multiple of 64.
        bytes: Its length.
        sha256: Of its bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Header:
    """What `segment.json` says.

    Attributes:
        meta: The description.
        bytes: Length of `arrays.bin`.
        arrays: In the order of their places, which is that of their names.
    """

    meta: Mapping[str, Any]
    bytes: int
    arrays: tuple[ArrayPlace, ...]


class Segment:
    """Named arrays and a description.

    Attributes:
        arrays: Read-only; views of memory, or of one memory map whose pages all processes share.
        meta: As JSON gives it back: tuples are lists, keys are texts.
        bytes: Length of `arrays.bin`.
    """

    __slots__ = ("__weakref__", "_header", "_lock", "_name", "arrays", "bytes", "meta")

    def __init__(
        self, arrays: Mapping[str, AnyArray], meta: Mapping[str, Any], *, header: bytes | None = None
    ) -> None:
        """Use `make_segment` or `open_segment`."""
        self.arrays: Mapping[str, AnyArray] = MappingProxyType(dict(sorted(arrays.items())))
        self.meta: Mapping[str, Any] = MappingProxyType(dict(meta))
        self.bytes = _places(self.arrays)[1]
        self._header = header
        self._name = None if header is None else digest(header)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The sha256 that covers description and arrays; computed when first asked for, which reads them all."""
        self.header()
        assert self._name is not None
        return self._name

    def header(self) -> bytes:
        """The content of `segment.json`."""
        with self._lock:
            if self._header is None:
                header = _write_header(self.arrays, self.meta)
                self._name = digest(header)
                self._header = header
            return self._header

    def content(self) -> Iterator[bytes | memoryview]:
        """The content of `arrays.bin`, piece by piece."""
        at = 0
        for array, offset in zip(self.arrays.values(), _places(self.arrays)[0], strict=True):
            yield bytes(offset - at)
            flat = _as_bytes(array)
            for first in range(0, len(flat), _CHUNK_BYTES):
                yield flat[first : first + _CHUNK_BYTES]
            at = offset + array.nbytes

    def __repr__(self) -> str:
        name = "unnamed" if self._name is None else self._name[:12]
        return f"Segment({name}, {len(self.arrays)} arrays, {self.bytes} bytes)"


def make_segment(arrays: Mapping[str, npt.ArrayLike], meta: Mapping[str, Any] | None = None) -> Segment:
    """A segment in memory.

    Arrays are not copied unless they must be (to be contiguous and little-endian); do not write to them any more.

    Args:
        arrays: Of numbers, Booleans or fixed-length bytes, of any shape.
        meta: Anything that JSON can say.

    Raises:
        TypeError: An array holds objects or such, or JSON cannot say `meta`.
    """
    description = json.loads(canonical(dict(meta or {})))
    return Segment({name: _plain(name, array) for name, array in arrays.items()}, description)


def read_header(data: bytes, name: str, file: str) -> Header:
    """What a `segment.json` says, if it is the one of that name.

    Raises:
        SnapshotError: It is damaged, foreign or newer.
    """
    document = parse(data, KIND, FORMAT, file)
    if digest(data) != name:
        raise SnapshotError(file, f"damaged: its sha256 is {digest(data)}, expected {name}", "damaged")
    try:
        arrays = tuple(_read_place(each) for each in document["arrays"])
        header = Header(document["meta"], document["bytes"], arrays)
        ends = [place.offset + place.bytes for place in arrays]
        starts = [place.offset for place in arrays]
        good = all(end <= start for end, start in zip([0, *ends], [*starts, header.bytes], strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(file, f"foreign: not a table of arrays: {error!r}", "foreign") from error
    if not good:
        raise SnapshotError(file, "foreign: the places of its arrays overlap", "foreign")
    return header


def open_segment(folder: str | os.PathLike[str], name: str, *, locked: bool = False) -> Segment:
    """Map a stored segment; reads `segment.json` only.

    Args:
        folder: Where its two files are.
        name: Its name.
        locked: Hold a shared lock on `arrays.bin` as long as any of the arrays lives, to show that it is in use.

    Raises:
        SnapshotError: A file is missing, damaged, foreign or newer.
    """
    header_file, arrays_file = os.path.join(folder, HEADER), os.path.join(folder, ARRAYS)
    try:
        with open(header_file, "rb") as file:
            data = file.read()
        header = read_header(data, name, header_file)
        mapped = _map(arrays_file, header.bytes, locked=locked)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SnapshotError(str(error.filename), "missing", "missing") from error
    return Segment({place.name: _view(mapped, place) for place in header.arrays}, header.meta, header=data)


def segment_of(header: bytes, content: bytes) -> Segment:
    """The segment whose `segment.json` and `arrays.bin` have been sent here.

    Raises:
        SnapshotError: They are damaged, foreign or newer.
    """
    name = digest(header)
    described = read_header(header, name, name)
    if len(content) != described.bytes:
        raise SnapshotError(name, f"damaged: {len(content)} bytes, expected {described.bytes}", "damaged")
    arrays = {place.name: _view(content, place) for place in described.arrays}
    return Segment(arrays, described.meta, header=header)


def damages(header: Header, content: Mapping[str, str], size_bytes: int) -> Iterator[str]:
    """What is wrong with `arrays.bin`, in words.

    Args:
        header: What should be there.
        content: The sha256 of every array as it is, by name.
        size_bytes: Length of the file as it is.
    """
    if size_bytes != header.bytes:
        yield f"damaged: {size_bytes} bytes, expected {header.bytes}"
    for place in header.arrays:
        if content.get(place.name) != place.sha256:
            yield f"damaged: the checksum of array {place.name!r} is not that of its content"


def array_hashes(header: Header, chunks: Iterator[bytes]) -> tuple[dict[str, str], int]:
    """The sha256 of every array in a stream of the content of `arrays.bin`, and the length of the stream."""
    hashes = {place.name: hashlib.sha256() for place in header.arrays}
    at = 0
    for chunk in chunks:
        view, end = memoryview(chunk), at + len(chunk)
        for place in header.arrays:
            first, last = max(place.offset, at), min(place.offset + place.bytes, end)
            if first < last:
                hashes[place.name].update(view[first - at : last - at])
        at = end
    return {name: each.hexdigest() for name, each in hashes.items()}, at


def _plain(name: str, given: npt.ArrayLike) -> AnyArray:
    array = np.asarray(given, order="C")
    if array.dtype.kind not in _KINDS:
        msg = f"array {name!r}: a segment holds numbers, Booleans and bytes, not {array.dtype}"
        raise TypeError(msg)
    view = array.astype(array.dtype.newbyteorder("<"), copy=False).view()
    view.flags.writeable = False
    return view


def _as_bytes(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")


def _places(arrays: Mapping[str, AnyArray]) -> tuple[list[int], int]:
    """The offset of every array, and the end of the last."""
    offsets, at = [], 0
    for array in arrays.values():
        offset = -(-at // _ALIGNMENT) * _ALIGNMENT
        offsets.append(offset)
        at = offset + array.nbytes
    return offsets, at


def _write_header(arrays: Mapping[str, AnyArray], meta: Mapping[str, Any]) -> bytes:
    offsets, size = _places(arrays)
    table = [
        {
            "name": name,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "offset": offset,
            "sha256": hashlib.sha256(_as_bytes(array)).hexdigest(),
        }
        for (name, array), offset in zip(arrays.items(), offsets, strict=True)
    ]
    return canonical({"kind": KIND, "format": FORMAT, "meta": dict(meta), "bytes": size, "arrays": table})


def _read_place(row: Mapping[str, Any]) -> ArrayPlace:
    dtype, shape = np.dtype(str(row["dtype"])), tuple(int(length) for length in row["shape"])
    if dtype.kind not in _KINDS or min(shape, default=0) < 0:
        msg = f"array of {dtype} and shape {shape}"
        raise ValueError(msg)
    size = dtype.itemsize
    for length in shape:
        size *= length
    return ArrayPlace(str(row["name"]), dtype.str, shape, int(row["offset"]), size, str(row["sha256"]))


def _map(file: str, size_bytes: int, *, locked: bool) -> mmap.mmap | bytes:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        if locked:
            # The map duplicates the descriptor; a lock belongs to all duplicates, and goes with the last of them.
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        found = os.fstat(descriptor).st_size
        if found != size_bytes:
            raise SnapshotError(file, f"damaged: {found} bytes, expected {size_bytes}", "damaged")
        if not size_bytes:
            return b""
        # A private map: kernels compiled for writable arrays take it; as nothing writes, pages stay shared.
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        return mmap.mmap(descriptor, size_bytes, flags=mmap.MAP_PRIVATE, prot=protection)
    finally:
        os.close(descriptor)


def _view(mapped: mmap.mmap | bytes, place: ArrayPlace) -> AnyArray:
    dtype = np.dtype(place.dtype)
    if not place.bytes:
        empty = np.empty(place.shape, dtype)
        empty.flags.writeable = False
        return empty
    flat = np.frombuffer(mapped, dtype, place.bytes // dtype.itemsize, place.offset)
    flat.flags.writeable = False
    return flat.reshape(place.shape)
