"""`hash` and `xxhash64` of any values: Murmur3 and XXH64 as Spark computes them, from the seed 42.

The hash of one value is the seed of the next; NULL leaves the seed as it is. `pmod(hash(id), 16) = 3` takes the
same sixteenth of the events here and in Spark. The kind of a schemaless value is not its type in Spark, so that it
must be cast.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tamis.functions.registry import Argument, ArgumentError, Function, Signature, check_count, register
from tamis.functions.rows import Scalar
from tamis.values.types import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    holds_map,
    is_decimal,
    is_interval,
    is_year_month,
    wrap_integer,
)

_SEED = 42
_I32, _I64 = (1 << 32) - 1, (1 << 64) - 1
_ONE_LONG = 18  # a decimal of so many digits is hashed as a bigint
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

Hash: TypeAlias = Callable[[Any, int], int]
"""From a value that is not NULL and a seed to the hash, both unsigned."""


def _rotate32(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _I32


def _rotate64(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _I64


def _mix(hashed: int, word: int) -> int:
    word = _rotate32((word & _I32) * 0xCC9E2D51 & _I32, 15) * 0x1B873593 & _I32
    return (_rotate32(hashed ^ word, 13) * 5 + 0xE6546B64) & _I32


def _finish(hashed: int, length: int) -> int:
    hashed ^= length
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _I32
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _I32
    return hashed ^ hashed >> 16


def _murmur_int(value: int, seed: int) -> int:
    return _finish(_mix(seed, value), 4)


def _murmur_long(value: int, seed: int) -> int:
    return _finish(_mix(_mix(seed, value), value >> 32), 8)


def _murmur_bytes(value: bytes, seed: int) -> int:
    """As Murmur3 but for the end: each of the last bytes is mixed in alone, with its sign."""
    whole = len(value) // 4 * 4
    for (word,) in struct.iter_unpack("<i", value[:whole]):
        seed = _mix(seed, word)
    for (byte,) in struct.iter_unpack("b", value[whole:]):
        seed = _mix(seed, byte)
    return _finish(seed, len(value))


def _avalanche(hashed: int) -> int:
    hashed = (hashed ^ hashed >> 33) * _P2 & _I64
    hashed = (hashed ^ hashed >> 29) * _P3 & _I64
    return hashed ^ hashed >> 32


def _round(hashed: int, word: int) -> int:
    return _rotate64((hashed + word * _P2) & _I64, 31) * _P1 & _I64


def _with_word(hashed: int, word: int) -> int:
    return (_rotate64(hashed ^ _round(0, word), 27) * _P1 + _P4) & _I64


def _with_half(hashed: int, word: int) -> int:
    return (_rotate64(hashed ^ word * _P1 & _I64, 23) * _P2 + _P3) & _I64


def _xx_int(value: int, seed: int) -> int:
    return _avalanche(_with_half((seed + _P5 + 4) & _I64, value & _I32))


def _xx_long(value: int, seed: int) -> int:
    return _avalanche(_with_word((seed + _P5 + 8) & _I64, value & _I64))


def _xx_bytes(value: bytes, seed: int) -> int:
    at = 0
    if len(value) >= 32:
        lanes = [(seed + _P1 + _P2) & _I64, (seed + _P2) & _I64, seed, (seed - _P1) & _I64]
        while at <= len(value) - 32:
            words = struct.unpack_from("<4Q", value, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            at += 32
        hashed = sum(_rotate64(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _I64
        for lane in lanes:
            hashed = ((hashed ^ _round(0, lane)) * _P1 + _P4) & _I64
    else:
        hashed = (seed + _P5) & _I64
    hashed = (hashed + len(value)) & _I64
    while at + 8 <= len(value):
        hashed = _with_word(hashed, *struct.unpack_from("<Q", value, at))
        at += 8
    if at + 4 <= len(value):
        hashed = _with_half(hashed, *struct.unpack_from("<I", value, at))
        at += 4
    for byte in value[at:]:
        hashed = _rotate64(hashed ^ byte * _P5 & _I64, 11) * _P1 & _I64
    return _avalanche(hashed)


def _hash_of(type_: Type, of_int: Hash, of_long: Hash, of_bytes: Hash) -> Hash:
    """The hash of values of a type."""
    if type_ == STRING:
        return lambda text, seed: of_bytes(text.encode(), seed)
    if type_ == BINARY:
        return of_bytes
    if type_ == FLOAT:
        return lambda real, seed: of_int(int.from_bytes(struct.pack("<f", real or 0.0), "little"), seed)
    if type_ == DOUBLE:
        return lambda real, seed: of_long(int.from_bytes(struct.pack("<d", real or 0.0), "little"), seed)
    if is_decimal(type_) and type_.precision > _ONE_LONG:
        return lambda unscaled, seed: of_bytes(_big_endian(unscaled), seed)
    if type_.name == "array":
        inner = _hash_of(type_.item, of_int, of_long, of_bytes)
        return lambda items, seed: _fold([inner] * len(items), items, seed)
    if type_.name == "struct":
        parts = [_hash_of(field, of_int, of_long, of_bytes) for _, field in type_.fields]
        return lambda fields, seed: _fold(parts, fields, seed)
    is_long = type_ in (BIGINT, TIMESTAMP, TIMESTAMP_NTZ) or is_decimal(type_)
    if is_interval(type_):
        is_long = not is_year_month(type_)
    if type_ == CALENDAR_INTERVAL:
        return lambda length, seed: of_int(length[0], of_int(length[1], of_long(length[2], seed)))
    return of_long if is_long else of_int


def _big_endian(unscaled: int) -> bytes:
    """The bytes of Java's BigInteger: the fewest that hold the number and its sign."""
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    return unscaled.to_bytes((bits + 7) // 8, "big", signed=True)


def _fold(parts: Sequence[Hash], values: Sequence[Any], seed: int) -> int:
    for part, value in zip(parts, values, strict=True):
        seed = seed if value is None else part(value, seed)
    return seed


def _define(name: str, returns: Type, of_int: Hash, of_long: Hash, of_bytes: Hash) -> None:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1)
        for place, argument in enumerate(arguments):
            if argument.type == ANY or holds_map(argument.type):
                what = "a schemaless value" if argument.type == ANY else "a map"
                msg = f"{what} has no hash"
                raise ArgumentError(msg, place, "cast it: try_cast(x AS string)" if argument.type == ANY else None)
        types = tuple(BOOLEAN if each.type == NULL else each.type for each in arguments)
        return Signature(types, returns, zone)

    def bind(signature: Signature) -> Scalar:
        parts = [_hash_of(type_, of_int, of_long, of_bytes) for type_ in signature.parameters]
        return lambda *values: wrap_integer(_fold(parts, values, _SEED), INTEGER_BITS[returns])

    register(Function(name, resolve, bind, sees_null=True))


_define("hash", INT, _murmur_int, _murmur_long, _murmur_bytes)
_define("xxhash64", BIGINT, _xx_int, _xx_long, _xx_bytes)
