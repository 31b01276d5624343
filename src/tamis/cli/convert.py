"""`tamis convert`: conditions of other dialects as SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.cli.subscriptions import SubscriptionEntry


def convert(
    text: Annotated[
        str, typer.Argument(metavar="TEXT|FILE", help="The condition, or a file of subscriptions; - for stdin.")
    ],
    source: Annotated[str, typer.Option("--from", metavar="NAME", help="The dialect, such as eventbridge.")],
    target: Annotated[str, typer.Option("--to", metavar="NAME", help="Only sql is possible.")] = "sql",
    json: Json = False,
) -> None:
    """Translate conditions of another dialect into SQL.

    A file is one of subscriptions, as for match, whose conditions may name dialects of their own; it is printed as
    JSON lines that `tamis subs import` reads.

    \b
    Examples:
      tamis convert --from jms "JMSPriority > 5 AND color IN ('red', 'blue')"
      tamis convert --from eventbridge '{"detail": {"state": ["stopped"]}}'
      tamis convert --from eventbridge rules.jsonl > rules-sql.jsonl

    Exit code 1 if a condition is refused, or cannot be expressed in SQL; 2 if there is no such dialect or file.
    """
    from tamis.cli.inputs import STDIN
    from tamis.cli.output import JsonLines, Screen, fail, note, printing_errors
    from tamis.cli.problems import condition_problems, report_refusal
    from tamis.cli.subscriptions import read_subscriptions
    from tamis.errors import ConditionError

    with printing_errors():
        if target != "sql":
            fail(f"conditions are converted to sql only, not to {target!r}")
        if text == STDIN or _is_file(text):
            entries = read_subscriptions(text, dialect=source)
            refused = 0
            for entry in entries:
                try:
                    if not entry.problems:
                        JsonLines().write(_record(entry))
                        continue
                    report_refusal(entry, None, None)
                except ConditionError as error:
                    report_refusal(entry, error, None)
                refused += 1
            raise typer.Exit(1 if refused else 0)
        try:
            converted = to_sql(text, source)
        except ConditionError as error:
            if json:
                JsonLines().write({"condition": text, "problems": condition_problems(error)})
            else:
                note(str(error))
            raise typer.Exit(1) from error
        if json:
            JsonLines().write({"condition": text, "dialect": source, "sql": converted})
        else:
            Screen().say(converted)


def to_sql(text: str, dialect: str) -> str:
    """The condition in SQL.

    Raises:
        ConditionError: It is refused, or SQL has no text that is read as the same.
        DialectError: There is no such dialect.
    """
    from tamis.errors import ConditionError, Problem
    from tamis.language.analysis import Schemaless, analyse
    from tamis.language.dialects import has_state, parse_dialect
    from tamis.syntax.parser import parse_leniently
    from tamis.syntax.printing import to_text
    from tamis.values.types import ANY, BOOLEAN, NULL

    tree, problems = parse_dialect(text, dialect)
    if problems:
        raise ConditionError(text, problems)
    if has_state(dialect):
        message = "this cannot be expressed in SQL, which has conditions on one event: several satisfy it together"
        raise ConditionError(text, [Problem(message, 0, len(text))])
    expression, _ = analyse(tree, Schemaless(), is_whole=False)
    if expression is not None and expression.type not in (BOOLEAN, ANY, NULL):
        message = f"this is no condition, and has no condition in SQL: its value is of the type {expression.type}"
        raise ConditionError(text, [Problem(message, 0, len(text))])
    converted = to_text(tree)
    if parse_leniently(converted) != (tree, []):
        message = f"this cannot be expressed in SQL; the nearest is {converted}"
        raise ConditionError(text, [Problem(message, 0, len(text))])
    return converted


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name, as conditions may be
        return False


def _record(entry: SubscriptionEntry) -> dict[str, Any]:
    """A subscription whose condition is SQL, as files have it."""
    more = {"event_type": entry.event_type, "priority": entry.priority or None, "owner": entry.owner}
    given = {name: value for name, value in more.items() if value is not None}
    return {"id": entry.id, "condition": to_sql(entry.condition, entry.dialect), **given, **entry.stored}
