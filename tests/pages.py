"""What stands in fenced blocks of the documentation's pages, and how their examples are compared."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    content: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text("utf-8")
    return [Block(each[1], each[2], text.count("\n", 0, each.start()) + 2) for each in FENCE.finditer(text)]


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Line, command and expected output of every `$ tamis` and `$ python` in a console block."""
    parts = re.split(r"^\$ ", block.content, flags=re.MULTILINE)
    line = block.line + parts[0].count("\n")
    for part in parts[1:]:
        command, _, expected = part.replace("\\\n", "").partition("\n")
        if command.startswith(("tamis ", "python ")):
            yield line, command, expected
        line += part.count("\n")


def check(expected: str, got: str, place: str) -> None:
    """Fail unless the output is what the page says; `...` stands for anything."""
    example = doctest.Example(place, expected)
    checker = doctest.OutputChecker()
    if not checker.check_output(expected, got, OPTIONS):
        pytest.fail(f"{place}\n{checker.output_difference(example, got, OPTIONS)}", pytrace=False)
