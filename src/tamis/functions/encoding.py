"""Functions of bits and bytes: hex, digests, character sets, base64, shifts, masks.

Text becomes bytes as UTF-8. What Spark would raise for, such as a character that a set does not have, is NULL.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import zlib
from collections.abc import Callable, Sequence

from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Resolve,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar
from tamis.functions.vectorization import text_vector
from tamis.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    INT,
    INTEGER_BITS,
    NULL,
    STRING,
    TINYINT,
    Type,
    is_integral,
    is_numeric,
    wrap_integer,
)

_LONG = (1 << 64) - 1
_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")
_CHARACTER_SETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
    "UTF-32": "utf-32-be",
}


def _define(name: str, *other_names: str, resolve: Resolve, scalar: Scalar) -> None:
    register(Function(name, resolve, always(scalar), text_vector(scalar)), *other_names)


def _resolve_hex(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = arguments[0].type
    parameter = BIGINT if is_numeric(found) else BINARY if found == BINARY else STRING
    return Signature((parameter,), STRING, zone)


def _hex(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return f"{value & _LONG:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _unhex(text: str) -> bytes | None:
    digits = text if len(text) % 2 == 0 else f"0{text}"
    return bytes.fromhex(digits) if re.fullmatch("[0-9A-Fa-f]*", digits) else None


def _sha2(value: bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else hashlib.new(name, value).hexdigest()


_DIGESTS = {f"sha-{bits}": f"sha{bits}" for bits in (1, 224, 256, 384, 512)} | {"md5": "md5"}
_DIGESTS |= {name: name for name in _DIGESTS.values()}


def _resolve_hmac(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 3)
    for each in arguments[2:]:
        if each.value is not None and str(each.value).lower() not in _DIGESTS:
            msg = f"expected a digest, found {each.value!r}"
            raise ArgumentError(msg, 2, "SHA-224, SHA-256, SHA-384, SHA-512, SHA-1 or MD5")
    return Signature((BINARY, BINARY, STRING)[: len(arguments)], BINARY, zone)


def _hmac(key: bytes, message: bytes, digest: str = "sha256") -> bytes | None:
    name = _DIGESTS.get(digest.lower())
    return hmac.digest(key, message, name) if key and name else None


def _base64(value: bytes) -> str:
    """In lines of 76 characters, as MIME has it."""
    text = base64.b64encode(value).decode()
    return "\r\n".join(text[at : at + 76] for at in range(0, len(text), 76))


def _unbase64(text: str) -> bytes | None:
    """What is no digit of base 64 is skipped; padding may be missing."""
    digits = _BASE64.sub(b"", text.encode("ascii", "ignore"))
    kept = digits.rstrip(b"=")
    if len(digits) - len(kept) > 2 or b"=" in kept or (b"=" in digits and len(digits) % 4) or len(kept) % 4 == 1:
        return None
    return base64.b64decode(kept + b"=" * (-len(kept) % 4))


def _resolve_charset(source: Type, returns: Type) -> Resolve:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 2, 2)
        name = arguments[1].value
        if not arguments[1].is_constant or str(name).upper() not in _CHARACTER_SETS:
            msg = f"expected a constant character set, found {name!r}"
            raise ArgumentError(msg, 1, f"one of {', '.join(_CHARACTER_SETS)}")
        return Signature((source, STRING), returns, zone)

    return resolve


def _encode(text: str, name: str) -> bytes | None:
    name = name.upper()
    try:
        found = text.encode("utf-16-be" if name == "UTF-16" else _CHARACTER_SETS[name])
    except UnicodeEncodeError:
        return None
    return b"\xfe\xff" + found if name == "UTF-16" and text else found


def _decode(value: bytes, name: str) -> str | None:
    name = name.upper()
    codec = _CHARACTER_SETS[name]
    if name == "UTF-16" and value[:2] not in (b"\xfe\xff", b"\xff\xfe"):
        codec = "utf-16-be"
    try:
        return value.decode(codec)
    except UnicodeDecodeError:
        return None


_TO_BINARY: dict[str, Callable[[str], bytes | None]] = {
    "hex": _unhex,
    "utf-8": str.encode,
    "utf8": str.encode,
    "base64": _unbase64,
}


def _resolve_to_binary(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    if len(arguments) > 1 and arguments[1].type != NULL:
        if not arguments[1].is_constant or str(arguments[1].value).lower() not in _TO_BINARY:
            msg = f"expected a constant format, found {arguments[1].value!r}"
            raise ArgumentError(msg, 1, "one of hex, utf-8, base64")
    return Signature((STRING, STRING)[: len(arguments)], BINARY, zone)


def _to_binary(text: str, name: str = "hex") -> bytes | None:
    return _TO_BINARY[name.lower()](text)


# Bits


def _resolve_bit_count(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    _check_whole(arguments, 0, BOOLEAN)
    return Signature((BIGINT if arguments[0].type == NULL else arguments[0].type,), INT, zone)


def _check_whole(arguments: Sequence[Argument], place: int, *others: Type) -> None:
    found = arguments[place].type
    if not is_integral(found) and found not in (NULL, *others):
        msg = f"expected a whole number, found {found}"
        raise ArgumentError(msg, place)


def _resolve_getbit(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    _check_whole(arguments, 0)
    return Signature((BIGINT if arguments[0].type == NULL else arguments[0].type, INT), TINYINT, zone)


def _bind_getbit(signature: Signature) -> Scalar:
    bits = INTEGER_BITS[signature.parameters[0]]
    return lambda value, place: value >> place & 1 if 0 <= place < bits else None


def _resolve_shift(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    _check_whole(arguments, 0)
    type_ = BIGINT if arguments[0].type == BIGINT else INT
    return Signature((type_, INT), type_, zone)


def _bind_shift(compute: Callable[[int, int, int], int]) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        bits = INTEGER_BITS[signature.returns]
        return lambda value, places: compute(value, places % bits, bits)

    return bind


def _left(value: int, places: int, bits: int) -> int:
    return wrap_integer(value << places, bits)


def _right(value: int, places: int, _: int) -> int:
    return value >> places


def _unsigned_right(value: int, places: int, bits: int) -> int:
    return wrap_integer((value & (1 << bits) - 1) >> places, bits)


# Checks and masks


def _luhn_check(text: str) -> bool:
    if not text or not text.isascii() or not text.isdigit():
        return False
    digits = [int(digit) for digit in reversed(text)]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[0::2]) + sum(doubled)) % 10 == 0


def _resolve_mask(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 5)
    for place, argument in enumerate(arguments[1:], 1):
        if not argument.is_constant or (argument.value is not None and len(str(argument.value)) != 1):
            msg = "expected a constant string of one character, or NULL"
            raise ArgumentError(msg, place)
    return Signature((STRING,) * len(arguments), STRING, zone)


def _mask(text: str | None, *given: str | None) -> str | None:
    """Letters and digits replaced by kind; NULL leaves a kind as it is."""
    if text is None:
        return None
    upper, lower, digit, other = (*given, *("X", "x", "n", None)[len(given) :])
    shown = (
        (upper if each.isupper() else lower if each.islower() else digit if each.isdecimal() else other, each)
        for each in text
    )
    return "".join(each if substitute is None else substitute for substitute, each in shown)


_define("hex", resolve=_resolve_hex, scalar=_hex)
_define("unhex", resolve=takes(STRING, returns=BINARY), scalar=_unhex)
_define("bin", resolve=takes(BIGINT, returns=STRING), scalar=lambda value: f"{value & _LONG:b}")
_define("md5", resolve=takes(BINARY, returns=STRING), scalar=lambda value: hashlib.md5(value).hexdigest())
_define(
    "sha1",
    "sha",
    resolve=takes(BINARY, returns=STRING),
    scalar=lambda value: hashlib.sha1(value).hexdigest(),
)
_define("sha2", resolve=takes(BINARY, INT, returns=STRING), scalar=_sha2)
_define("hmac", resolve=_resolve_hmac, scalar=_hmac)
_define("crc32", resolve=takes(BINARY, returns=BIGINT), scalar=zlib.crc32)
_define("base64", resolve=takes(BINARY, returns=STRING), scalar=_base64)
_define("unbase64", resolve=takes(STRING, returns=BINARY), scalar=_unbase64)
_define("encode", resolve=_resolve_charset(STRING, BINARY), scalar=_encode)
_define("decode", resolve=_resolve_charset(BINARY, STRING), scalar=_decode)
_define("to_binary", "try_to_binary", resolve=_resolve_to_binary, scalar=_to_binary)
_define("luhn_check", resolve=takes(STRING, returns=BOOLEAN), scalar=_luhn_check)
register(Function("mask", _resolve_mask, always(_mask), sees_null=True))
register(Function("bit_count", _resolve_bit_count, always(lambda value: (int(value) & _LONG).bit_count())))
register(Function("getbit", _resolve_getbit, _bind_getbit), "bit_get")
register(Function("shiftleft", _resolve_shift, _bind_shift(_left)))
register(Function("shiftright", _resolve_shift, _bind_shift(_right)))
register(Function("shiftrightunsigned", _resolve_shift, _bind_shift(_unsigned_right)))
