"""Parts of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list.

    Attributes:
        items: What is in it.
        next: From where the list goes on; None if this was the last page.
    """

    items: tuple[T, ...]
    next: int | str | None
