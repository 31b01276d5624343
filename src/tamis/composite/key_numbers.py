"""Numbers for the keys of composite subscriptions: the values of BY in an event as one integer.

Equal values have equal numbers as long as somebody keeps the number. A key of texts and whole numbers, as nearly
all are, is looked up as it is; another one by its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from tamis.arrays import I64
from tamis.composite.parts import key_text, plain_value
from tamis.events.batch import EventBatch

_SIMPLE = {str, int}
_SPARE = 10_000
"""Numbers that may be unused before anybody looks for them."""


class KeyNumbers:
    """Keys and their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._next = 0
        self._in_use = 0

    def of_rows(self, batch: EventBatch, paths: Sequence[tuple[str, ...]], rows: I64) -> I64:
        """The numbers of some events' keys, -1 where a value is NULL."""
        columns = [batch.column(path).take(rows).to_list() for path in paths]
        if not columns:
            return np.full(len(rows), self._of(()), np.int64)
        if {kind for column in columns for kind in set(map(type, column))} <= _SIMPLE:
            keys: list[Any] = columns[0] if len(columns) == 1 else [*zip(*columns, strict=True)]
            known = [*map(self._numbers.get, keys)]
            return np.array([self._of(key) if at is None else at for key, at in zip(keys, known, strict=True)])
        keys = [None if None in row else _key(row) for row in zip(*columns, strict=True)]
        return np.array([-1 if key is None else self._of(key) for key in keys], np.int64)

    def of_text(self, text: str) -> int:
        """The number of the key with this text, as `texts` gives it."""
        return self._of(_key(json.loads(text)))

    def texts(self) -> dict[int, str]:
        """The text of each number's key, as `key_text` has it."""
        return {number: _text(key) for key, number in self._numbers.items()}

    def forget_unused(self, in_use: Callable[[], Sequence[I64]]) -> None:
        """Forget the numbers that nobody keeps, if there are many."""
        if len(self._numbers) <= 2 * self._in_use + _SPARE:
            return
        kept = {*np.concatenate([*in_use()]).tolist()}
        self._numbers = {key: number for key, number in self._numbers.items() if number in kept}
        self._in_use = len(self._numbers)

    def _of(self, key: Hashable) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._next
            self._next += 1
        return number


def _key(values: Iterable[Any]) -> Hashable:
    """A key to look up: the value or the values themselves, or None and their text."""
    plain = tuple(map(plain_value, values))
    if {*map(type, plain)} <= _SIMPLE:
        return plain[0] if len(plain) == 1 else plain
    return None, key_text(plain)


def _text(key: Any) -> str:
    if isinstance(key, tuple) and key and key[0] is None:
        return str(key[1])
    return key_text(key if isinstance(key, tuple) else (key,))
