"""Reading a TOML file whose schema is known: strictly, and with all problems at once.

A table is asked for its keys one by one; what is wrong is noted, with the key's path, and a stand-in is given, so
that reading goes on. Whoever reads raises at the end if anything was noted, and so never uses a stand-in. Keys
that were not asked for are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tamis.events.schemas import Problems, show_value, suggestion

_UNITS = {
    "milliseconds": ("ms", "millisecond", "milliseconds"),
    "seconds": ("s", "sec", "second", "seconds"),
    "minutes": ("m", "min", "minute", "minutes"),
    "hours": ("h", "hour", "hours"),
    "days": ("d", "day", "days"),
}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)")
_SQLITE = "sqlite:///"
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_NAMES = rf"({_NAME}(?:\s*\.\s*{_NAME})*)"
_HEADER = re.compile(rf"\s*(\[\[?)\s*{_NAMES}\s*\]")
_KEY = re.compile(rf"\s*{_NAMES}\s*=")


@dataclass(slots=True)
class TomlTable:
    """A table of the file, while it is read.

    Attributes:
        path: Its name, as `spark.conf`; empty for the whole file.
        content: What TOML says.
        folder: Where the file is; paths are relative to it.
        problems: What is wrong so far, in all tables.
    """

    path: str
    content: Mapping[str, Any]
    folder: Path
    problems: Problems
    _asked: list[str] = field(default_factory=list)

    def table(self, key: str, *, required: bool = False) -> TomlTable | None:
        """A table within; None if there is none."""
        value = self._value(key, Mapping, "a table", required=required)
        return None if value is None else TomlTable(self.at(key), value, self.folder, self.problems)

    def text(
        self, key: str, default: str | None = None, *, required: bool = False, choices: Collection[str] = ()
    ) -> str | None:
        """A text, one of the choices if there are any."""
        expected = f"one of {', '.join(choices)}" if choices else "a text"
        value = self._value(key, str, expected, required=required)
        if value is None:
            return default
        if choices and value not in choices:
            hint = suggestion(value, choices)
            self.problems.add(self.at(key), f"expected {expected}, found {show_value(value)}{hint}")
        elif not value:
            self.problems.add(self.at(key), f"expected {expected}, found an empty one")
        return str(value)

    def required_text(self, key: str, choices: Collection[str] = ()) -> str:
        """A text that must be there."""
        return self.text(key, required=True, choices=choices) or ""

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A text, or a list of them."""
        value = self._value(key, (str, list), "a text or a list of texts", required=required)
        listed = [value] if isinstance(value, str) else value or []
        if value is not None and (not listed or not all(isinstance(each, str) and each for each in listed)):
            self.problems.add(self.at(key), f"expected a text or a list of texts, found {show_value(value)}")
            return ()
        return tuple(listed)

    def items(self, key: str, expected: str) -> list[Any]:
        """A list of anything."""
        return self._value(key, list, expected, required=False) or []

    def strings(self, key: str) -> dict[str, str]:
        """A table of texts, for others: numbers and truth values are written as they write them.

        Messages show no values: they may be passwords.
        """
        value = self._value(key, object, "a table", required=False)
        if not isinstance(value or {}, Mapping):
            self.problems.add(self.at(key), f"expected a table, found a value of {type(value).__name__}")
            return {}
        found = {}
        for name, each in (value or {}).items():
            if not isinstance(each, (str, int, float)):
                shown = f"a value of {type(each).__name__}"
                self.problems.add(f"{self.at(key)}.{name}", f"expected a text, found {shown}")
            found[name] = str(each).lower() if isinstance(each, bool) else str(each)
        return found

    def number(
        self, key: str, default: int | None = None, *, least: int = 1, most: int | None = None
    ) -> int | None:
        """A whole number within bounds."""
        upto = "" if most is None else f" to {most}"
        expected = f"a whole number from {least}{upto or ' on'}"
        value = self._value(key, int, expected, required=False)
        if value is None:
            return default
        if isinstance(value, bool) or value < least or (most is not None and value > most):
            self.problems.add(self.at(key), f"expected {expected}, found {show_value(value)}")
        return int(value)

    def flag(self, key: str) -> bool:
        """True or false; false if it is not there."""
        return bool(self._value(key, bool, "true or false", required=False))

    def duration(self, key: str, default: timedelta | None = None) -> timedelta | None:
        """`30s`, `1 minute`, `7d`."""
        expected = "a duration such as '500ms', '30s', '5 minutes', '12h' or '7d'"
        value = self._value(key, str, expected, required=False)
        if value is None:
            return default
        found = _DURATION.fullmatch(value.strip().lower())
        unit = None if found is None else next((unit for unit, names in _UNITS.items() if found[2] in names), None)
        duration = timedelta(0) if found is None or unit is None else timedelta(**{unit: float(found[1])})
        if duration <= timedelta(0):
            self.problems.add(self.at(key), f"expected {expected}, found {show_value(value)}")
        return duration

    def place(self, key: str, default: str | None = None, *, required: bool = False) -> str | None:
        """A path, made absolute, or a URL, as it is; a database in a file is both."""
        value = self.text(key, required=required)
        if not value:
            return default
        if value.startswith(_SQLITE):
            return _SQLITE + str(self.folder / value.removeprefix(_SQLITE))
        return value if "://" in value else str(self.folder / value)

    def at(self, key: str) -> str:
        """The path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def end(self) -> None:
        """Note the keys that were not asked for: they are unknown."""
        self.problems.check_keys(self.path, self.content, self._asked)

    def _value(self, key: str, kinds: Any, expected: str, *, required: bool) -> Any:
        self._asked.append(key)
        if key not in self.content:
            if required:
                self.problems.add(self.at(key), f"is missing; expected {expected}")
            return None
        value = self.content[key]
        if not isinstance(value, kinds):
            self.problems.add(self.at(key), f"expected {expected}, found {show_value(value)}")
            return None
        return value


def with_lines(problems: list[str], text: str) -> list[str]:
    r"""The problems with their lines in the file: those of their keys, or else of the tables that they are in.

    >>> with_lines(["spark.mastr: is unknown", "sink: is missing"], '[spark]\nmastr = "yarn"')
    ['line 2: spark.mastr: is unknown', 'sink: is missing']
    """
    lines = _lines(text)
    found = []
    for problem in problems:
        path = problem.partition(": ")[0]
        while path and path not in lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        found.append(f"line {lines[path]}: {problem}" if path else problem)
    return found


def _lines(text: str) -> dict[str, int]:
    """The line of each table and key, by its path.

    A line within a text of several lines may look like a key; then a problem with a key of that name shows that
    line.
    """
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header is not None:
            table = _path(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            lines.setdefault(table, number)
        elif key is not None:
            lines.setdefault(f"{table}.{_path(key[1])}".removeprefix("."), number)
    return lines


def _path(names: str) -> str:
    return ".".join(name.strip("\"'") for name in re.findall(_NAME, names))
