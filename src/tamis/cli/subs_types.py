"""`tamis subs type ...`: the event types of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tamis.cli.options import Json
from tamis.cli.subs_store import StoreUrl, open_store

if TYPE_CHECKING:
    from tamis.store import Store


class _TypeGroup(TyperGroup):
    """A group in which `declare` need not be written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_named = bool(args) and args[0] in (*self.commands, "--help")
        return super().parse_args(ctx, args if is_named else ["declare", *args])


types = typer.Typer(cls=_TypeGroup, rich_markup_mode=None)


@types.callback()
def _types() -> None:
    """Declare, list and drop event types; a file alone is declared.

    \b
    Examples:
      tamis subs type camera.json
      tamis subs type list
      tamis subs type drop event

    Exit code 0 on success; 1 if subscriptions are refused; 2 if the command could not be carried out.
    """


@types.command()
def declare(
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="The event type, a JSON file.")] = None,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Declare an event type, or change the one of that name; without a file, list the event types.

    The conditions of its subscriptions are compiled again. Subscriptions whose conditions are now refused are
    listed, and are not matched until their conditions compile again.

    \b
    Examples:
      tamis subs type declare camera.json

    Exit code 1 if subscriptions are refused, 2 if the event type cannot be read.
    """
    from tamis.cli.inputs import load_event_type
    from tamis.cli.output import printing_errors

    if file is None:
        list_(store, json)
        return
    with printing_errors():
        event_type = load_event_type(file)
    with open_store(store) as opened_store:
        refused = _declare(opened_store, event_type, as_json=json)
    raise typer.Exit(1 if refused else 0)


@types.command("list")
def list_(store: StoreUrl = "tamis.db", json: Json = False) -> None:
    """List the event types, with the number of their subscriptions.

    \b
    Examples:
      tamis subs type list

    Exit code 2 if there is no store.
    """
    from tamis.cli.output import JsonLines, Screen, count_text

    with open_store(store, create=False) as opened_store, opened_store.view() as view:
        counts = view.count_by_type()
        for name, event_type in view.event_types().items():
            count = counts.get(name, 0)
            if json:
                JsonLines().write({**event_type.to_dict(), "subscriptions": count})
            else:
                attributes = event_type.attributes
                described = "schemaless" if attributes is None else ", ".join(each.name for each in attributes)
                Screen().say(f"{name} ({count_text(count, 'subscription')}): {described}")


@types.command()
def drop(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the event type.")],
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Forget an event type that has no subscriptions any more.

    \b
    Examples:
      tamis subs type drop event

    Exit code 2 if there is no such event type, or it has subscriptions.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_store(store, create=False) as opened_store:
        version = opened_store.drop_event_type(name)
        if json:
            JsonLines().write({"store_version": version, "dropped": name})
        else:
            Screen().say(f"store version {version}: event type {name!r} dropped")


def _declare(store: Store, event_type: Any, *, as_json: bool) -> int:
    """Set the event type and report the subscriptions that it refuses; returns their number."""
    from tamis.cli.output import JsonLines, Screen, count_text, note

    refusals = store.set_event_type(event_type)
    for refusal in refusals if not as_json else ():
        note(f"subscription {refusal.id!r} is refused:\n{refusal.error}")
    if as_json:
        refused = [{"id": refusal.id, "message": str(refusal.error)} for refusal in refusals]
        JsonLines().write({"store_version": store.version(), "event_type": event_type.name, "refused": refused})
    else:
        said = f", {count_text(len(refusals), 'subscription')} refused" if refusals else ""
        Screen().say(f"store version {store.version()}: event type {event_type.name!r} declared{said}")
    return len(refusals)
