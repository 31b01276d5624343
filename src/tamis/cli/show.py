"""`tamis show`: the meaning of a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Dialect, EventTypeFile, Json, Operators

if TYPE_CHECKING:
    from tamis.errors import ConditionError
    from tamis.events.event_type import EventType
    from tamis.formulas.formula import Formula
    from tamis.language.condition import Condition

_SAMPLE_EVENTS = 512


def show(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The condition.")] = None,
    event_type: EventTypeFile = None,
    operators: Operators = None,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the formula as a tree.")] = False,
    engines: Annotated[
        bool,
        typer.Option("--engines", help="Time the engines on events, and show the one that auto chooses."),
    ] = False,
    subscriptions: Annotated[
        str | None,
        typer.Option(
            "--subscriptions", metavar="FILE", help="With --engines: the subscriptions, a file or a store."
        ),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="FILE", help="With --engines: the events; the first 512 are matched."),
    ] = None,
    dialect: Dialect = "sql",
    json: Json = False,
) -> None:
    """Show the meaning of a condition, or which engine suits subscriptions.

    Prints its canonical form; its formula, the two-valued form that engines match; the predicates of the formula
    with their costs, in units of one integer comparison; the attributes that it reads with their types or,
    without an event type, the required kinds of values.

    \b
    Examples:
      tamis show "price between 100 and 300 and not (brand = 'Sony')"
      tamis show --tree "at_least(2, price < 300, rating > 4, 'new' = state)"
      tamis show --event-type camera.json "seller.rating >= 4.5"
      tamis show -- "-balance > 100"
      tamis show --engines --subscriptions cameras.jsonl --events events.jsonl

    Exit code 1 if the condition is refused, with all of its problems; 2 if the event type cannot be read.
    """
    from tamis.cli.inputs import check_sources, load_event_type
    from tamis.cli.output import JsonLines, fail, printing_errors
    from tamis.errors import ConditionError
    from tamis.language.condition import compile_condition

    with printing_errors():
        given = [text is not None, engines, subscriptions is not None, events is not None]
        if given not in ([True, False, False, False], [False, True, True, True]):
            fail("expected a condition, or --engines with --subscriptions FILE and --events FILE")
        type_ = load_event_type(event_type, subscriptions or "")
        if subscriptions is not None and events is not None:
            check_sources(subscriptions, events)
            _show_engines(subscriptions, events, type_, dialect, json=json)
            return
        assert text is not None, "there is one without --engines"
        try:
            condition = compile_condition(text, type_, dialect=dialect)
        except ConditionError as error:
            _refuse(error, json=json)
        if json:
            nodes = {"nodes": _nodes(condition.formula)} if tree else {}
            JsonLines().write({**_meaning(condition), **nodes})
        else:
            _print(condition, tree=tree)


def _show_engines(subscriptions: str, events: str, type_: EventType, dialect: str, *, json: bool) -> None:
    from tamis.cli.inputs import open_events
    from tamis.cli.output import JsonLines, Screen, note
    from tamis.cli.subscriptions import read_subscriptions
    from tamis.engines.auto import choose_for
    from tamis.errors import ConditionError
    from tamis.frames import BatchFrame
    from tamis.language.bulk import compile_many

    good = [entry for entry in read_subscriptions(subscriptions, dialect=dialect) if not entry.problems]
    texts, dialects = [entry.condition for entry in good], [entry.dialect for entry in good]
    compiled = compile_many(texts, type_, dialect=dialects)
    formulas = [each for each in compiled if not isinstance(each, ConditionError)]
    if len(formulas) < len(texts):
        note(f"{len(texts) - len(formulas)} of {len(texts)} conditions are refused and left out")
    batch = next(iter(open_events(events, type_, None, batch_rows=_SAMPLE_EVENTS)))
    choice = choose_for(formulas, [BatchFrame(batch)])
    times = dict(sorted(choice.microseconds.items(), key=lambda each: each[1]))
    if json:
        chosen = {"engine": choice.engine, "reason": choice.reason}
        counts = {"subscriptions": len(formulas), "events": choice.events}
        JsonLines().write({**chosen, **counts, "us_per_event": times})
        return
    screen = Screen()
    screen.say(f"auto is {choice.engine}: {choice.reason}.")
    if times:
        screen.say(f"{'engine':10}{'us per event':>14}", style="bold")
    for name, time in times.items():
        screen.say(f"{name:10}{time:14,.1f}")


def _refuse(error: ConditionError, *, json: bool) -> None:
    from tamis.cli.output import JsonLines, note
    from tamis.cli.problems import condition_problems

    if json:
        JsonLines().write({"condition": error.text, "problems": condition_problems(error)})
    else:
        note(str(error))
    raise typer.Exit(1)


def _meaning(condition: Condition) -> dict[str, Any]:
    from tamis.syntax.printing import to_text

    predicates = condition.formula.predicates()
    return {
        "condition": condition.text,
        **({} if condition.dialect == "sql" else {"dialect": condition.dialect}),
        "canonical": to_text(condition.tree),
        "formula": condition.formula.describe(),
        "predicates": [{"text": one.describe(), "cost": round(one.cost, 2)} for one in predicates],
        "attributes": [{"name": name, "type": type_} for name, type_ in _attributes(condition).items()],
        "cost": round(condition.formula.cost, 2),
    }


def _attributes(condition: Condition) -> dict[str, str]:
    """The types of the attributes that the condition reads; for schemaless ones, the required kinds."""
    from tamis.formulas.expression import Apply, Path, walk
    from tamis.syntax.printing import quote_name

    read_as: dict[int, str] = {}
    found: dict[str, list[str]] = {}
    for part in walk(condition.expression):  # parents first
        if isinstance(part, Apply) and part.function == "read":
            read_as[id(part.arguments[0])] = str(part.type)
        elif isinstance(part, Path):
            name = ".".join(map(quote_name, part.steps))
            found.setdefault(name, []).append(read_as.get(id(part), str(part.type)))
    return {name: " or ".join(dict.fromkeys(types)) for name, types in found.items()}


def _nodes(formula: Formula) -> list[dict[str, Any]]:
    """The formula as a list of nodes, operands before the nodes that use them."""
    places: dict[int, int] = {}
    nodes: list[dict[str, Any]] = []
    for node in formula.nodes():
        places[id(node)] = len(nodes)
        if node.predicate is not None:
            nodes.append({"predicate": node.predicate.describe()})
        else:
            nodes.append({"least": node.least, "operands": [places[id(operand)] for operand in node.operands]})
    return nodes


def _print(condition: Condition, *, tree: bool) -> None:
    from tamis.cli.output import Screen
    from tamis.cli.trees import formula_tree

    screen = Screen()
    meaning = _meaning(condition)

    def section(title: str, rows: list[tuple[str, str]]) -> None:
        screen.say(f"{title}:", style="bold")
        width = max((len(left) for left, right in rows if right), default=0)
        for left, right in rows:
            screen.say(f"  {left:{width}}  {right}".rstrip())

    section("canonical form", [(meaning["canonical"], "")])
    if tree:
        screen.say("formula:", style="bold")
        screen.print(formula_tree(condition.formula))
    else:
        section("formula", [(meaning["formula"], "")])
    section("predicates", [(one["text"], f"cost {one['cost']:g}") for one in meaning["predicates"]])
    section("attributes", [(one["name"], one["type"]) for one in meaning["attributes"]])
    section("cost of one event", [(f"{meaning['cost']:g}", "")])
