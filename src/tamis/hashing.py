"""BLAKE2b of many texts at once: 16 bytes, without key, salt or personalisation, as `hashlib.blake2b` gives them.

An id is made for every notification, and Python takes a microsecond for one call of hashlib. The kernel takes a
third of that, and lets other threads run. Where it is not compiled yet, it would have to make millions of ids to
repay that: then hashlib makes them.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, U8, U64
from tamis.kernels import is_compiled, kernel

DIGEST_BYTES = 16
_BLOCK_BYTES = 128
_LEAST_COMPILED = 64
"""Fewer rows are quicker by hashlib than by a call with arrays."""
_LEAST = 2_000_000
"""Rows from which on compiling pays."""
_INITIAL = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)
"""The fractional parts of the square roots of the first primes (RFC 7693)."""
_PARAMETERS = np.uint64(0x01010000 | DIGEST_BYTES)
_ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    dtype=np.uint64,
)
"""In which order each of the twelve rounds takes the words of a block; unsigned, as numba tests signed indices."""


def hash_rows(texts: pa.Array, *, compiles: bool = False) -> U8:
    """The hash of each row of a binary array without NULLs: uint8[rows, 16]; `compiles` is for the warm-up."""
    rows = len(texts)
    if compiles or rows >= (_LEAST_COMPILED if is_compiled(__name__) else _LEAST):
        whole = texts.cast(pa.binary())
        _, offsets, data = whole.buffers()
        starts = np.frombuffer(offsets, np.int32)[whole.offset : whole.offset + rows + 1]
        content = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
        hashes = np.empty((rows, DIGEST_BYTES // 8), np.uint64)
        _hash_rows(starts, content, hashes)
        return hashes.view(np.uint8)
    digests = [blake2b(each, digest_size=DIGEST_BYTES).digest() for each in texts.to_pylist()]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(rows, DIGEST_BYTES)


@kernel(forceinline=True)
def _turn(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word >> bits) | (word << (np.uint64(64) - bits))


@kernel(forceinline=True)
def _mix(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, x: np.uint64, y: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a = a + b + x
    d = _turn(d ^ a, np.uint64(32))
    c = c + d
    b = _turn(b ^ c, np.uint64(24))
    a = a + b + y
    d = _turn(d ^ a, np.uint64(16))
    c = c + d
    b = _turn(b ^ c, np.uint64(63))
    return a, b, c, d


@kernel
def _hash_rows(starts: I32, content: U8, hashes: U64) -> None:
    """Hash the rows, block by block.

    Args:
        starts: int32[rows + 1], where each row begins, and where the last one ends.
        content: uint8[...], the rows one after the other.
        hashes: uint64[rows, 2], the result.
    """
    state = np.empty(8, np.uint64)
    block = np.empty(_BLOCK_BYTES, np.uint8)
    words = block.view(np.uint64)  # little-endian, as BLAKE2b and all processors that numba knows
    for row in range(len(starts) - 1):
        at, end = np.int64(starts[row]), np.int64(starts[row + 1])
        length = end - at
        for place in range(8):
            state[place] = _INITIAL[place]
        state[0] ^= _PARAMETERS
        done = np.int64(0)
        is_last = False
        while not is_last:
            size = length - done if length - done < _BLOCK_BYTES else _BLOCK_BYTES
            is_last = done + size == length  # an empty text is one empty block
            for place in range(size):
                block[place] = content[at + done + place]
            for place in range(size, _BLOCK_BYTES):
                block[place] = 0
            done += size
            a0, a1, a2, a3 = state[0], state[1], state[2], state[3]
            b0, b1, b2, b3 = state[4], state[5], state[6], state[7]
            c0, c1, c2, c3 = _INITIAL[0], _INITIAL[1], _INITIAL[2], _INITIAL[3]
            d0, d1, d2, d3 = _INITIAL[4] ^ np.uint64(done), _INITIAL[5], _INITIAL[6], _INITIAL[7]
            if is_last:
                d2 = ~d2
            for turn in range(12):
                order = _ORDER[turn]
                a0, b0, c0, d0 = _mix(a0, b0, c0, d0, words[order[0]], words[order[1]])
                a1, b1, c1, d1 = _mix(a1, b1, c1, d1, words[order[2]], words[order[3]])
                a2, b2, c2, d2 = _mix(a2, b2, c2, d2, words[order[4]], words[order[5]])
                a3, b3, c3, d3 = _mix(a3, b3, c3, d3, words[order[6]], words[order[7]])
                a0, b1, c2, d3 = _mix(a0, b1, c2, d3, words[order[8]], words[order[9]])
                a1, b2, c3, d0 = _mix(a1, b2, c3, d0, words[order[10]], words[order[11]])
                a2, b3, c0, d1 = _mix(a2, b3, c0, d1, words[order[12]], words[order[13]])
                a3, b0, c1, d2 = _mix(a3, b0, c1, d2, words[order[14]], words[order[15]])
            state[0] ^= a0 ^ c0
            state[1] ^= a1 ^ c1
            state[2] ^= a2 ^ c2
            state[3] ^= a3 ^ c3
            state[4] ^= b0 ^ d0
            state[5] ^= b1 ^ d1
            state[6] ^= b2 ^ d2
            state[7] ^= b3 ^ d3
        hashes[row, 0] = state[0]
        hashes[row, 1] = state[1]
