"""`tamis show`: what a condition means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import EventTypeFile, Json

if TYPE_CHECKING:
    from tamis.errors import ConditionError
    from tamis.language.condition import Condition
    from tamis.language.formula import Formula


def show(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The condition.")],
    event_type: EventTypeFile = None,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the formula as a tree.")] = False,
    json: Json = False,
) -> None:
    """Show what a condition means.

    Prints its canonical form; its formula, which is what engines match, with NULL dealt with; the formula's
    predicates and their costs, in units of one comparison of integers; the attributes it reads and their
    types, or without an event type the kinds of values it asks for.

    \b
    Examples:
      tamis show "price between 100 and 300 and not (brand = 'Sony')"
      tamis show --tree "at_least(2, price < 300, rating > 4, 'new' = state)"
      tamis show --event-type camera.json "seller.rating >= 4.5"
      tamis show -- "-balance > 100"

    Exit code 1 if the condition is refused, with all of its problems; 2 if the event type cannot be read.
    """
    from tamis.cli.inputs import load_event_type
    from tamis.cli.output import JsonLines, reported_errors
    from tamis.errors import ConditionError
    from tamis.language.condition import compile_condition

    with reported_errors():
        type_ = load_event_type(event_type)
        try:
            condition = compile_condition(text, type_)
        except ConditionError as error:
            _refuse(error, json=json)
        if json:
            nodes = {"nodes": _nodes(condition.formula)} if tree else {}
            JsonLines().write({**_meaning(condition), **nodes})
        else:
            _print(condition, tree=tree)


def _refuse(error: ConditionError, *, json: bool) -> None:
    from tamis.cli.output import JsonLines, note
    from tamis.cli.problems import condition_problems

    if json:
        JsonLines().write({"condition": error.text, "problems": condition_problems(error)})
    else:
        note(str(error))
    raise typer.Exit(1)


def _meaning(condition: Condition) -> dict[str, Any]:
    from tamis.language.printing import to_text

    predicates = condition.formula.predicates()
    return {
        "condition": condition.text,
        "canonical": to_text(condition.tree),
        "formula": condition.formula.describe(),
        "predicates": [{"text": one.describe(), "cost": round(one.cost, 2)} for one in predicates],
        "attributes": [{"name": name, "type": type_} for name, type_ in _attributes(condition).items()],
        "cost": round(condition.formula.cost, 2),
    }


def _attributes(condition: Condition) -> dict[str, str]:
    """The attributes that the condition reads, by name; of schemaless ones, the kinds that it asks for."""
    from tamis.language.expression import Apply, Path, walk
    from tamis.language.printing import quote_name

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
    """The formula as a list of nodes, operands before those that use them."""
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
