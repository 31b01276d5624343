"""`tamis test`: run test cases of conditions.

The reference evaluator gives verdicts, and a matcher gives lists of matching subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json, Operators, Quiet

if TYPE_CHECKING:
    from rich.tree import Tree

    from tamis.cli.cases import Case, CaseFile
    from tamis.composite.trial import Trial
    from tamis.explain import Explanation

_WORDS = {True: "true", False: "false", None: "unknown"}


def test(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="YAML files of test cases.")],
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the cases that pass, too.")] = False,
    operators: Operators = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run test cases of conditions.

    A failing case is printed with the tree of its condition: every part with its verdict and the values that it
    read.

    \b
    A file of cases:
      event_type: camera.json       # a file relative to this one, or inline; optional
      subscriptions: cameras.jsonl  # a file relative to this one, or a mapping of ids to conditions
      dialect: sql                  # of the conditions that name none; optional
      cases:
        - name: a cheap Sony
          condition: bargain        # the id of a subscription, or else a condition
          event: {brand: Sony, price: 199}
          expected: true            # true, false, or null for unknown
        - events: [{price: 8000}, {price: 9000}]
          expected: [premium]       # exactly these subscriptions match each of the events

    To a composite subscription (`dialect: composite`), the events of a case are one stream, with their times in
    `time`: it is expected to be complete by the last of them, or not.

    \b
    Examples:
      tamis test cameras_test.yaml
      tamis test --verbose rules/*_test.yaml

    Exit code 0 if all cases pass, 1 if some fail or a subscription is refused, 2 if a file is malformed; the
    cases of the other files still run.
    """
    from tamis.cli.cases import read_cases
    from tamis.cli.output import JsonLines, Screen, count_text, note, os_error_text
    from tamis.errors import TamisError

    read: list[CaseFile] = []
    malformed = False
    for path in files:
        try:
            read.append(read_cases(path))
        except (TamisError, OSError) as error:
            malformed = True
            note(os_error_text(error) if isinstance(error, OSError) else str(error))
    screen, lines = Screen(), JsonLines() if json else None
    passed = failed = refused = 0
    for file in read:
        run = _CaseRun(file)
        for text in run.refusals():
            refused += 1
            note(text)
        for case in file.cases:
            results = list(run.results(case))
            good = all(result.passed for result in results)
            passed, failed = passed + good, failed + (not good)
            if lines is not None:
                lines.write(_case_json(file, case, results))
            elif not good:
                screen.print(_failure_tree(f"✗ {file.path}:{case.line}: {case.name}", case, results))
            elif verbose:
                screen.say(f"✓ {file.path}:{case.line}: {case.name}", style="green")
    if read and not quiet:
        note(f"tamis: {count_text(passed + failed, 'case')}, {passed} passed, {failed} failed")
    raise typer.Exit(2 if malformed else 1 if failed or refused else 0)


@dataclass(frozen=True, slots=True)
class _CaseResult:
    """The result for one event of a case, or for all if it is composite; `problem` says why there is none."""

    passed: bool
    actual: bool | list[str] | None = None
    explanations: tuple[Explanation, ...] = ()
    problem: str | None = None
    trial: Trial | None = None


class _CaseRun:
    """Runs the cases of a file; its subscriptions are compiled once."""

    def __init__(self, file: CaseFile) -> None:
        from tamis.composite.parts import compile_composite
        from tamis.errors import ConditionError
        from tamis.language.dialects import has_state
        from tamis.matcher import Matcher
        from tamis.segments.records import Subscription

        self.file = file
        self.entries = {entry.id: entry for entry in file.subscriptions if not entry.problems}
        self.matcher = Matcher(file.event_type)
        composite = {id for id, entry in self.entries.items() if has_state(entry.dialect)}
        given = (
            Subscription(id, entry.condition, dialect=entry.dialect)
            for id, entry in self.entries.items()
            if id not in composite
        )
        self.errors = {refusal.id: refusal.error for refusal in self.matcher.add_many(given)}
        for id in composite:
            try:
                compile_composite(self.entries[id].condition, file.event_type)
            except ConditionError as error:
                self.errors[id] = error
        self.composite = composite - self.errors.keys()

    def refusals(self) -> Iterator[str]:
        from tamis.cli.problems import refusal_text

        for entry in self.file.subscriptions:
            if entry.problems or entry.id in self.errors:
                yield refusal_text(entry, None if entry.problems else self.errors[entry.id])

    def results(self, case: Case) -> Iterator[_CaseResult]:
        if isinstance(case.expected, frozenset):
            for event in case.events:
                yield self._compare_matches(event, case.expected - self.composite)
            if self.composite:  # to which the events of a case are one stream
                yield self._compare_composite(case, case.expected & self.composite)
            return
        from tamis.language.dialects import has_state

        entry = self.entries.get(case.condition or "")
        if has_state(self.file.dialect if entry is None else entry.dialect):
            yield self._try(case, (case.condition or "") if entry is None else entry.condition)
            return
        for event in case.events:
            yield self._compare_verdict(case, event)

    def _compare_composite(self, case: Case, expected: frozenset[str]) -> _CaseResult:
        results = {id: self._try(case, self.entries[id].condition) for id in sorted(self.composite)}
        actual = [id for id, result in results.items() if result.actual is True]
        wrong = sorted(expected.symmetric_difference(actual))
        told = [f"{id}: {results[id].trial or results[id].problem}" for id in wrong]
        return _CaseResult(not wrong, actual, problem="\n".join(told) or None)

    def _try(self, case: Case, text: str) -> _CaseResult:
        """Is a composite subscription satisfied by the events of a case, taken together?"""
        from tamis.composite.trial import try_composite
        from tamis.errors import ConditionError, EventError

        try:
            trial = try_composite(text, case.events, self.file.event_type)
        except (ConditionError, EventError) as error:
            return _CaseResult(False, problem=f"the condition is refused:\n{error}")
        return _CaseResult(bool(trial.matches) is case.expected, bool(trial.matches), trial=trial)

    def _compare_matches(self, event: Any, expected: frozenset[str]) -> _CaseResult:
        actual = self.matcher.match(event)
        wrong = sorted(expected.symmetric_difference(actual))
        explanations = tuple(self.matcher.explain(id, event) for id in wrong if id in self.matcher)
        refused = [id for id in wrong if id not in self.matcher]
        problem = f"refused: {', '.join(refused)}" if refused else None
        return _CaseResult(not wrong, sorted(actual), explanations, problem)

    def _compare_verdict(self, case: Case, event: Any) -> _CaseResult:
        from tamis.errors import ConditionError
        from tamis.events.batch import EventBatch
        from tamis.explain import explain
        from tamis.language.condition import compile_condition

        assert case.condition is not None
        entry = self.entries.get(case.condition)
        text = case.condition if entry is None else entry.condition
        dialect = self.file.dialect if entry is None else entry.dialect
        try:
            condition = compile_condition(text, self.file.event_type, dialect=dialect)
        except ConditionError as error:
            return _CaseResult(False, problem=f"the condition is refused:\n{error}")
        batch = EventBatch.of(event, self.file.event_type)
        explanation = explain(condition, batch, subscription_id=None if entry is None else entry.id)
        verdict = explanation.tree.verdict
        return _CaseResult(verdict is case.expected, verdict, (explanation,))


def _answer_text(answer: bool | frozenset[str] | list[str] | None) -> str:
    if isinstance(answer, (frozenset, list)):
        return ", ".join(sorted(answer)) or "no subscription"
    return _WORDS[answer]


def _failure_tree(title: str, case: Case, results: list[_CaseResult]) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    from tamis.cli.output import visible
    from tamis.cli.trees import explanation_tree

    tree = Tree(Text(visible(title), style="bold red"))
    for place, result in enumerate(results):
        if result.passed:
            continue
        which = f"event {place}: " if len(results) > 1 and place < len(case.events) else ""
        if result.problem is not None:
            tree.add(Text(visible(which + result.problem)))
        if result.problem is None or result.explanations:
            tree.add(Text(f"{which}expected {_answer_text(case.expected)}, found {_answer_text(result.actual)}"))
        if result.trial is not None:
            tree.add(Text(visible(str(result.trial))))
        for explanation in result.explanations:
            tree.add(Text(visible(explanation.reason))).children.append(explanation_tree(explanation))
    return tree


def _case_json(file: CaseFile, case: Case, results: list[_CaseResult]) -> dict[str, Any]:
    expected = sorted(case.expected) if isinstance(case.expected, frozenset) else case.expected
    return {
        "file": file.path,
        "line": case.line,
        "name": case.name,
        "passed": all(result.passed for result in results),
        "expected": expected,
        "results": [_result_json(result) for result in results],
    }


def _result_json(result: _CaseResult) -> dict[str, Any]:
    explanations = [] if result.passed else [one.to_dict() for one in result.explanations]
    return {
        "passed": result.passed,
        "actual": result.actual,
        **({"problem": result.problem} if result.problem else {}),
        **({"explanations": explanations} if explanations else {}),
        **({"trial": result.trial.to_dict()} if result.trial is not None and not result.passed else {}),
    }
