"""Fuzzing: conditions and events that are nearly right, each within bounds of time and memory, typed errors only.

Items are made and tried in worker processes; this process watches them. An item that takes more CPU time than the
bound, or its worker with it, is reported with its text, and the next worker goes on after it. A worker that runs
out of its memory fails by itself. A seed repeats every item, however many workers there are.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from ctypes import c_char, c_long
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from tamis import Matcher, reference
from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.events.reading import read_json_lines
from tamis.language.bulk import compile_conditions
from tamis.language.condition import Condition, compile_condition
from tests.campaigns.outcome import Outcome
from tests.texts import mutated, plain, soup
from tests.worlds import random_event, world

CHUNK = 500
"""Items of one seed: what a worker is given at once."""
SECONDS = 10.0
"""CPU time of one item."""
_STUCK_FACTOR = 20
"""An item that takes so many times longer by the clock waits for something that does not come."""
MEMORY_BYTES = 2 << 30
"""That a worker may take beyond what it has when it begins."""
_SHOWN_BYTES = 1 << 16
_LOOK_SECONDS = 0.2
_NAMES = ("a", "b", "c", "s", "s.x", "sa", "tags", "nums", "things", "price", "`odd name`")
_BRACKETS = (
    *("[", "]", "(", ")", "[]", "()", "[0]", "[-1]", "{", "}", ",", ".", "->", "::", "x", "x ->", "'", "''"),
    *("exists(", "forall(", "array(", "size(", "struct(", "coalesce(", "CASE WHEN", "THEN", "END", "NOT", "-"),
    *("AND", "OR", "=", "IN (", "LIKE", "RLIKE", "'%'", "'(a+)+$'", "at_least(1,", "average(", "CAST(", "AS INT)"),
)
_TYPED = EventType.from_dict(
    {
        "name": "fuzzed",
        "attributes": {
            "a": "int",
            "b": "string",
            "c": "double",
            "s": "struct<x:double,y:array<string>>",
            "sa": "array<struct<x:int,y:string>>",
            "tags": "array<string>",
            "nums": "array<bigint>",
            "things": "array<array<int>>",
            "price": "decimal(8,2)",
            "odd name": "date",
        },
    }
)


def items(seed: int, chunk: int) -> Iterator[tuple[str, str]]:
    """The items of a chunk: what each is for, and its text."""
    random_ = random.Random(f"{seed}/{chunk}")
    for _ in range(CHUNK):
        kind = random_.choice(("typed", "schemaless", "oracle"))
        if kind == "oracle" or random_.random() < 0.5:
            yield f"{kind} condition", _text(random_, kind)
        else:
            yield f"{kind} event", _event_text(random_)


def _text(random_: random.Random, kind: str) -> str:
    draw = random_.randrange(6)
    if draw == 0:
        return soup(random_, _NAMES, 24)
    if draw == 1:
        words = [random_.choice((*_BRACKETS, *_NAMES)) for _ in range(random_.randrange(1, 12))]
        return random_.choice(("", " ")).join(words)
    if kind == "typed":
        drawn = plain(random_, _NAMES, random_.choice((0, 1, 2)))
    else:
        drawn = world("schemaless" if kind == "schemaless" else "typed").condition(random_)
    return mutated(random_, drawn) if draw in {2, 3} else drawn


def _event_text(random_: random.Random) -> str:
    text = json.dumps(
        random_event(random_) | {"id": str(random_.randrange(9))}, ensure_ascii=random_.random() < 0.5
    )
    for _ in range(random_.choice((0, 0, 1, 2, 5))):
        at, draw = random_.randrange(len(text) + 1), random_.randrange(6)
        if draw == 0:
            text = text[:at] + random_.choice('{}[]",:\\\n\0é😀\ud800 -+.eE0123456789') + text[at:]
        elif draw == 1:
            text = text[:at] + text[at + random_.randrange(1, 9) :]
        elif draw == 2:
            end = min(len(text), at + random_.randrange(1, 40))
            text = text[:at] + text[at:end] * random_.choice((2, 3, 50)) + text[end:]
        elif draw == 3:
            odd = ("1e999", "-0", "1" * 400, "NaN", "Infinity", "[" * 200, '{"a":' * 80, "1.7976931348623159e308")
            text = text.replace(": ", f": {random_.choice(odd)}", 1)
        elif draw == 4:
            within = ("\\ud800", "\\u0000", "\\ud83d\\ude00", "2024-02-30", "9999999-01-01", "x" * 5_000)
            text = text.replace('"', f'"{random_.choice(within)}', random_.choice((1, 2)))
        else:
            text = text[:at]
    return text


class Tries(Protocol):
    """What a worker does with items."""

    def run(self, kind: str, text: str) -> str:
        """Try an item; gives what became of it."""


class Trial:
    """What is done with an item; raises whatever the product raises that it should not."""

    def __init__(self) -> None:
        random_ = random.Random(0)
        self._types = {"typed": _TYPED, "schemaless": EventType(), "oracle": world("typed").event_type}
        self._batches = {
            "typed": EventBatch.of([_fitting(random_event(random_)) for _ in range(8)], _TYPED),
            "schemaless": EventBatch.of([random_event(random_) for _ in range(8)], EventType()),
            "oracle": world("typed").batch(random_, 8),
        }
        self._conditions = {name: _standing(random_, self._types[name]) for name in ("typed", "schemaless")}
        self._matchers = {name: Matcher(self._types[name]) for name in self._conditions}
        for name, matcher in self._matchers.items():
            matcher.add_many([(id, each.text) for id, each in self._conditions[name].items()])

    def run(self, kind: str, text: str) -> str:
        """Try an item; gives what became of it."""
        name, what = kind.split()
        return self._condition(name, text) if what == "condition" else self._event(name, text)

    def _condition(self, name: str, text: str) -> str:
        event_type = self._types[name]
        try:
            condition = compile_condition(text, event_type)
        except ConditionError as error:
            assert error.problems and str(error), "a refusal says why"
            [bulk] = compile_conditions([text], event_type)
            assert isinstance(bulk, ConditionError), "refused alone, but not with others"
            return "refused"
        rows = set(reference.matches(condition, self._batches[name]))
        matcher = Matcher(event_type)
        matcher.add("it", text)
        found = matcher.match_pairs(self._batches[name]).columns()[0]
        assert set(found.tolist()) == rows, f"the engine found {sorted(set(found.tolist()))}, the reference {rows}"
        return "accepted"

    def _event(self, name: str, text: str) -> str:
        line = text.replace("\n", " ").encode("utf-8", "surrogatepass")
        event_type, outcome = self._types[name], "set aside"
        for batch in read_json_lines(line, event_type):
            found = self._matchers[name].match_pairs(batch).columns()
            pairs = set(zip(found[0].tolist(), found[1].to_pylist(), strict=True))
            expected = {
                (row, id)
                for id, condition in self._conditions[name].items()
                for row in reference.matches(condition, batch)
            }
            assert pairs == expected, f"the engine found {pairs - expected} and missed {expected - pairs}"
            outcome = "read" if len(batch) else "set aside"
        return outcome


def _fitting(event: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(event))
    return found


def _standing(random_: random.Random, event_type: EventType) -> dict[str, Condition]:
    """Conditions that events are matched with."""
    found: dict[str, Condition] = {}
    while len(found) < 25:
        text = plain(random_, _NAMES, 2) if random_.random() < 0.5 else world("schemaless").condition(random_)
        try:
            found[f"s{len(found)}"] = compile_condition(text, event_type)
        except ConditionError:
            continue
    return found


# --- workers -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Position:
    """What a worker is at, in memory that it shares with who watches it.

    Attributes:
        tried: Items of the chunk that it has begun.
        length: Of the text of the item.
        text: The beginning of the item, as bytes.
    """

    tried: Any
    length: Any
    text: Any

    @classmethod
    def shared(cls) -> Position:
        """A new one."""
        shared = multiprocessing.get_context("spawn").RawValue
        return cls(shared(c_long, 0), shared(c_long, 0), shared(c_char * _SHOWN_BYTES))

    def begin(self, kind: str, text: str) -> None:
        """An item is begun."""
        shown = f"{kind}: {text}".encode("utf-8", "surrogatepass")[:_SHOWN_BYTES]
        self.text[: len(shown)] = shown
        self.length.value = len(shown)
        self.tried.value += 1

    def shown(self) -> str:
        """The item."""
        return bytes(self.text[: self.length.value]).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk for a worker, and how many of its items to leave out."""

    seed: int
    chunk: int
    count: int
    skip: int = 0


def _work(connection: Connection, position: Position, memory_bytes: int, trial_class: Callable[[], Tries]) -> None:
    """The worker: tries chunks until there are no more."""
    trial = trial_class()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    connection.send(None)
    while (task := connection.recv()) is not None:
        outcomes: Counter[str] = Counter()
        position.tried.value = task.skip
        for place, (kind, text) in enumerate(items(task.seed, task.chunk)):
            if not task.skip <= place < task.count:
                continue
            position.begin(kind, text)
            try:
                outcomes[f"{kind}, {trial.run(kind, text)}"] += 1
            except Exception as error:  # whatever it is, it is what is looked for
                outcomes[f"{kind}, failed"] += 1
                connection.send(f"{type(error).__name__}: {str(error)[:500]}: {f'{kind}: {text}'!r}")
        connection.send(outcomes)


class Worker:
    """A process that tries chunks, and is killed when one of its items is out of bounds."""

    def __init__(self, memory_bytes: int, trial: Callable[[], Tries]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._position = Position.shared()
        self._process: BaseProcess = context.Process(
            target=_work, args=(theirs, self._position, memory_bytes, trial), daemon=True
        )
        self._process.start()
        theirs.close()
        self._task: Task | None = None
        self._seen = 0
        self._cpu = self._since = 0.0
        self._connection.recv()

    @property
    def is_idle(self) -> bool:
        """Does it wait for a task?"""
        return self._task is None

    def give(self, task: Task) -> None:
        """Let it try a chunk."""
        self._task, self._seen = task, task.skip
        self._cpu, self._since = self._cpu_seconds(), time.monotonic()
        self._connection.send(task)

    def results(self) -> Iterator[str | Counter[str]]:
        """The failures of its chunk until now, and what became of all its items once it is through."""
        try:
            while self._task is not None and self._connection.poll():
                found = self._connection.recv()
                if isinstance(found, Counter):
                    self._task = None
                yield found
        except (EOFError, ConnectionResetError):
            return  # it has died, which `over` reports

    def over(self, seconds: float) -> tuple[str, int, Task] | None:
        """Is its item out of bounds, or the worker gone? Gives why, what was tried before, what is left to do."""
        if self._task is None:
            return None
        tried = self._position.tried.value
        why = None
        if not self._process.is_alive():
            why = f"the worker ended with {self._process.exitcode}"
        elif tried != self._seen:
            self._seen, self._cpu, self._since = tried, self._cpu_seconds(), time.monotonic()
        elif (used := self._cpu_seconds() - self._cpu) > seconds:
            why = f"took more than {used:.0f} s of CPU time"
        elif time.monotonic() - self._since > _STUCK_FACTOR * seconds:
            why = f"stood still for {time.monotonic() - self._since:.0f} s"
        if why is None:
            return None
        task = self._task
        left = Task(task.seed, task.chunk, task.count, tried)
        return f"{why}: {self._position.shown()!r}", tried - task.skip - 1, left

    def end(self) -> None:
        """End it, whatever it does."""
        if self.is_idle and self._process.is_alive():
            self._connection.send(None)
        else:
            self._process.kill()
        self._process.join()
        self._connection.close()

    def _cpu_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return self._cpu
        return (int(fields[11]) + int(fields[12])) / 100


def run(
    outcome: Outcome,
    *,
    texts: int,
    workers: int = 2,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    trial: Callable[[], Tries] = Trial,
) -> None:
    """Try so many conditions and events."""
    tasks = [
        Task(outcome.seed, chunk, min(CHUNK, texts - start)) for chunk, start in enumerate(range(0, texts, CHUNK))
    ]
    tasks.reverse()
    outcomes: Counter[str] = Counter()
    crew = [Worker(memory_bytes, trial) for _ in range(workers)]
    told = outcome.seconds
    try:
        while tasks or not all(worker.is_idle for worker in crew):
            for place, worker in enumerate(crew):
                for found in worker.results():
                    if isinstance(found, str):
                        outcome.violate(found)
                    else:
                        outcomes += found
                if worker.is_idle:
                    if tasks:
                        worker.give(tasks.pop())
                elif (over := worker.over(seconds)) is not None:
                    outcome.violate(over[0])
                    outcomes["out of bounds"] += 1
                    outcomes["before an item that was out of bounds"] += over[1]
                    tasks.append(over[2])
                    worker.end()
                    crew[place] = Worker(memory_bytes, trial)
            if outcome.stop.is_set():
                tasks.clear()
            if outcome.seconds - told > 10:
                told = outcome.seconds
                outcome.say(f"{outcomes.total():,} of {texts:,} items")
            time.sleep(0.005 if texts <= CHUNK * workers else _LOOK_SECONDS / 10)
    finally:
        for worker in crew:
            worker.end()
    outcome.figures |= {
        "items": outcomes.total(),
        "items a second": round(outcomes.total() / outcome.seconds, 1),
        "out of bounds": outcomes["out of bounds"],
        "bounds": f"{seconds:g} s of CPU time, {memory_bytes >> 20} MiB",
        "outcomes": dict(sorted(outcomes.items())),
    }
