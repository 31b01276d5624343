"""Test cases: reads and checks the YAML files of `tamis test`.

A file is either valid or refused with all of its problems, each with its line. Conditions are not compiled here.

```yaml
event_type: camera.json        # a file relative to this one, or the event type itself; optional
subscriptions: cameras.jsonl   # a file relative to this one, or a mapping of ids to conditions; optional
dialect: sql                   # of the conditions that name none; optional
cases:
  - name: a cheap Sony         # optional
    condition: bargain         # the id of a subscription, or else a condition
    event: {brand: Sony, price: 199}
    expected: true             # true, false, or null for unknown
  - events:                    # several events with the same expected result
      - {brand: Leica, price: 9000}
      - {brand: Leica, price: 9001}
    expected: []               # exactly these subscriptions are matched
```
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from tamis.cli.subscriptions import SubscriptionEntry, read_subscriptions
from tamis.errors import DialectError, TamisError
from tamis.events.conversion import plain
from tamis.events.event_type import EventType
from tamis.language.dialects import SQL, dialect_of

_FILE_KEYS = ("event_type", "subscriptions", "dialect", "cases")
_CASE_KEYS = ("name", "condition", "event", "events", "expected")
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        name: The name for reports.
        line: The first line, counted from 1.
        condition: The id of a subscription, or else a condition; None if all subscriptions are evaluated.
        events: One or more events, each of which must give the expected result.
        expected: A verdict, None for unknown; or the ids of all subscriptions that match.
    """

    name: str
    line: int
    condition: str | None
    events: tuple[Mapping[str, Any], ...]
    expected: bool | frozenset[str] | None


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A valid file of test cases."""

    path: str
    event_type: EventType
    subscriptions: tuple[SubscriptionEntry, ...]
    cases: tuple[Case, ...]
    dialect: str = SQL


class CaseFileError(TamisError):
    """A file of test cases is malformed; the message lists all problems, each with its line."""

    def __init__(self, path: str, problems: Sequence[tuple[int | None, str]]) -> None:
        ordered = sorted(problems, key=lambda problem: problem[0] or 0)
        lines = [f"{path}:{line}: {text}" if line else f"{path}: {text}" for line, text in ordered]
        super().__init__("\n".join(lines))


def read_cases(path: str) -> CaseFile:
    """The cases of a YAML file.

    Raises:
        CaseFileError: The file is malformed, or a file that it names cannot be read.
        OSError: The file cannot be read.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise CaseFileError(path, [(line, f"not YAML: {problem}")]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: no such day, not UTF-8
        raise CaseFileError(path, [(None, f"not YAML: {error}")]) from error
    return _CaseFileReader(path, root).file(content)


@dataclass(slots=True)
class _CaseFileReader:
    path: str
    root: yaml.Node | None
    problems: list[tuple[int | None, str]] = field(default_factory=list)

    def file(self, content: Any) -> CaseFile:
        """The checked content; raises CaseFileError with all problems."""
        self.check_keys_are_unique_texts()
        if not isinstance(content, Mapping):
            self.report((), "expected a mapping with the key cases")
            raise CaseFileError(self.path, self.problems)
        self.check_keys((), content, _FILE_KEYS)
        event_type = self.event_type(content.get("event_type"))
        declared = "event_type" in content
        dialect = self.dialect(content.get("dialect", SQL))
        subscriptions = self.subscriptions(
            content.get("subscriptions"), event_type.name if declared else None, dialect
        )
        ids = {entry.id for entry in subscriptions}
        listed = content.get("cases")
        cases: list[Case] = []
        if not isinstance(listed, list) or not listed:
            self.report(("cases",), "expected a list of cases")
        else:
            cases = [self.case(case, ("cases", place), ids) for place, case in enumerate(listed)]
        if self.problems:
            raise CaseFileError(self.path, self.problems)
        return CaseFile(self.path, event_type, tuple(subscriptions), tuple(cases), dialect)

    def report(self, path: _Path, message: str) -> None:
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
        self.problems.append((self.line(path), f"{where}: {message}" if where else message))

    def line(self, path: _Path) -> int | None:
        """The line of the node at the path, or of its innermost ancestor that exists."""
        node = self.root
        line = None if node is None else node.start_mark.line + 1
        for step in path:
            inner = None if node is None else _child(node, step)
            if inner is None:
                return line
            node, line = inner[0], inner[1].start_mark.line + 1
        return line

    def check_keys_are_unique_texts(self) -> None:
        for mapping in _mappings(self.root):
            seen: set[str] = set()
            for key, _ in mapping.value:
                line = key.start_mark.line + 1
                if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                    shown = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                    self.problems.append((line, f"the key {shown} is not a text; put it in quotes"))
                elif key.value in seen:
                    self.problems.append((line, f"the key {key.value} is written twice"))
                else:
                    seen.add(key.value)

    def check_keys(self, path: _Path, content: Mapping[Any, Any], known: Sequence[str]) -> None:
        for key in content:
            if isinstance(key, str) and key not in known:
                close = get_close_matches(key, known, 1)
                hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
                self.report((*path, key), f"is unknown; {hint}")

    def event_type(self, described: Any) -> EventType:
        try:
            if isinstance(described, str):
                return EventType.load(self.beside(described))
            if isinstance(described, Mapping):
                return EventType.from_dict(plain(described))  # YAML has dates, which are texts in JSON
            if described is not None:
                self.report(("event_type",), f"expected a file or a mapping, found {described!r}")
        except (TamisError, OSError) as error:
            self.report(("event_type",), str(error))
        return EventType()

    def dialect(self, name: Any) -> str:
        try:
            dialect_of(name)
        except DialectError as error:
            self.report(("dialect",), str(error))
            return SQL
        return str(name)

    def subscriptions(self, described: Any, type_name: str | None, dialect: str) -> list[SubscriptionEntry]:
        if isinstance(described, str):
            try:
                return read_subscriptions(self.beside(described), event_type=type_name, dialect=dialect)
            except (TamisError, OSError) as error:
                self.report(("subscriptions",), str(error))
        elif isinstance(described, Mapping):
            return list(self.inline_subscriptions(described, dialect))
        elif described is not None:
            self.report(
                ("subscriptions",), f"expected a file or a mapping of ids to conditions, found {described!r}"
            )
        return []

    def inline_subscriptions(self, described: Mapping[Any, Any], dialect: str) -> Iterator[SubscriptionEntry]:
        for id, condition in described.items():
            path = ("subscriptions", str(id))
            if isinstance(condition, str):
                yield SubscriptionEntry(str(id), condition, self.path, self.line(path) or 1, dialect=dialect)
            else:
                self.report(path, f"expected a condition, found {condition!r}")

    def beside(self, name: str) -> str:
        """The path of a file that is named relative to this one."""
        return str(Path(self.path).parent / name)

    def case(self, described: Any, path: _Path, ids: set[str]) -> Case:
        line = self.line(path) or 1
        if not isinstance(described, Mapping):
            self.report(path, f"expected a mapping, found {described!r}")
            return Case("", line, None, (), None)
        self.check_keys(path, described, _CASE_KEYS)
        name = described.get("name", f"case {path[-1]}")
        if not isinstance(name, str):
            self.report((*path, "name"), f"expected a text, found {name!r}; put it in quotes")
        events = tuple(self.events(described, path))
        expected = self.expected_result(described, path, ids)
        condition = described.get("condition")
        if isinstance(expected, frozenset):
            if condition is not None:
                self.report(
                    (*path, "condition"),
                    "a list of expected ids evaluates all subscriptions; remove the condition",
                )
        elif condition is None and "expected" in described:
            self.report(path, "condition is missing: an id of a subscription, or a condition")
        elif condition is not None and not isinstance(condition, str):
            self.report((*path, "condition"), f"expected a text, found {condition!r}; put it in quotes")
            condition = None
        return Case(str(name), line, condition, events, expected)

    def events(self, case: Mapping[str, Any], path: _Path) -> Iterator[Mapping[str, Any]]:
        if ("event" in case) == ("events" in case):
            self.report(path, "expected either event or events")
            return
        if "event" in case:
            found = [((*path, "event"), case["event"])]
        elif isinstance(case["events"], list) and case["events"]:
            found = [((*path, "events", place), event) for place, event in enumerate(case["events"])]
        else:
            self.report((*path, "events"), "expected a list of events")
            return
        for where, event in found:
            if isinstance(event, Mapping):
                yield event
            else:
                self.report(where, f"expected a mapping of attributes to values, found {event!r}")

    def expected_result(self, case: Mapping[str, Any], path: _Path, ids: set[str]) -> bool | frozenset[str] | None:
        expected = case.get("expected")
        if "expected" not in case:
            self.report(path, "expected is missing: true, false, null for unknown, or a list of subscription ids")
        elif isinstance(expected, list):
            for place, id in enumerate(expected):
                if str(id) not in ids:
                    close = get_close_matches(str(id), ids, 1)
                    hint = f"; did you mean {close[0]!r}?" if close else ""
                    self.report((*path, "expected", place), f"there is no subscription {str(id)!r}{hint}")
            return frozenset(map(str, expected))
        elif expected is not None and not isinstance(expected, bool):
            kinds = "true, false, null for unknown, or a list of subscription ids"
            self.report((*path, "expected"), f"expected {kinds}, found {expected!r}")
        return expected if isinstance(expected, bool) else None


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """The child at a step, and the node whose position is reported for it."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return (node.value[step], node.value[step]) if step < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value, key
    return None


def _mappings(root: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Every mapping, each once, because aliases may form cycles."""
    seen: set[Hashable] = set()
    stack = [] if root is None else [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            stack.extend(part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            stack.extend(node.value)
