"""`tamis serve` and `tamis config`: the service, and what it goes by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.service.core import Service
    from tamis.service.settings import Found

File: TypeAlias = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="A TOML file of settings; by default $TAMIS_CONFIG.")
]
Host: TypeAlias = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; by default 127.0.0.1.")
]
Port: TypeAlias = Annotated[
    int | None,
    typer.Option("--port", metavar="N", min=0, max=65_535, help="Port to listen on; by default 8765, 0 for any."),
]
Data: TypeAlias = Annotated[
    str | None,
    typer.Option("--data", metavar="FOLDER", help="Where everything is kept; by default tamis-data."),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other setting; `tamis config` lists them."),
]


def serve(host: Host = None, port: Port = None, data: Data = None, config: File = None, set: Set = None) -> None:
    """Run the service: subscribe, publish and be notified over HTTP, and a page to see it all.

    One process answers, another runs Spark; both end with Ctrl-C or SIGTERM, after the batch that is being
    matched. What was accepted is on disk: started again, it goes on where it was, whatever happened. At the first
    start a token for the administrator is made; its file is named when the service starts.

    \b
    Examples:
      tamis serve
      tamis serve --port 8080 --data /var/lib/tamis
      tamis serve --config tamis.toml --set anonymous_publish=true

    Exit code 0 if it was stopped, 2 if it could not run.
    """
    from tamis.cli.output import Screen, reported_errors

    with reported_errors():
        found = _found(host, port, data, config, set)
        settings = found.settings
        for name, origin in found.origins.items():
            _shown(name, getattr(settings, name), origin)  # what cannot be shown is wrong
        serving, configure = _imported()
        configure(settings.log_level)

        def started(service: Service, address: str) -> None:
            screen, token = Screen(), service.first_token()
            screen.say(f"tamis listens at {address}, data in {settings.folder}")
            if token is not None:
                screen.say(f"the administrator's token is in {token}")
                screen.say(f"  export TAMIS_URL={address} TAMIS_TOKEN=$(cat {token})")
            if settings.host not in ("127.0.0.1", "::1", "localhost"):
                screen.say("it can be reached from other machines, without encryption: put a TLS proxy before it")

        with _ended_by_signals():
            serving(settings, started)


def config(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    config: File = None,
    set: Set = None,
    json: Json = False,
) -> None:
    """Show all settings of the service, where each comes from, and what it is for.

    Options win over variables of the environment (TAMIS_ and the name in capitals), those over the file.

    \b
    Examples:
      tamis config
      TAMIS_PORT=8080 tamis config --config tamis.toml --json

    Exit code 2 if a setting is not what it should be.
    """
    from tamis.cli.output import JsonLines, Screen, reported_errors

    with reported_errors():
        from tamis.service.settings import described

        found = _found(host, port, data, config, set)
        helps = {name: help for name, _, help in described()}
        for name, origin in found.origins.items():
            value = _shown(name, getattr(found.settings, name), origin)
            if json:
                JsonLines().write({"name": name, "value": value, "origin": origin, "help": helps[name]})
            else:
                Screen().say(f"{name} = {_toml(value)}  # {helps[name]} [{origin}]")


def _found(
    host: str | None, port: int | None, data: str | None, config: str | None, set: list[str] | None
) -> Found:
    from dataclasses import replace

    from tamis.service.settings import SettingsError, load, parsed

    options: dict[str, Any] = {}
    for each in set or []:
        name, equals, text = each.partition("=")
        if not equals:
            msg = f"--set: expected NAME=VALUE, found {each!r}"
            raise SettingsError(msg)
        options[name] = parsed(name, text, f"--set {name}")
    given = {"host": host, "port": port, "data": data}
    named = {name: value for name, value in given.items() if value is not None}
    found = load(config, options=options | named)
    origins = {name: f"--set {name}" for name in options if name not in named}
    return replace(found, origins=found.origins | origins)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A signal is how the service ends: with exit code 0, before it listens or after all is done.

    While it listens, the server takes signals itself; when it has ended, it raises them once more.
    """
    import signal

    def end(*_: object) -> None:
        raise typer.Exit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _imported() -> tuple[Any, Any]:
    from tamis.cli.output import fail

    try:
        from tamis.service.logs import configure
        from tamis.service.serving import serve as serving
    except ImportError as error:
        fail(f"this needs more than is installed ({error}): pip install 'tamis[service]'")
    return serving, configure


def _shown(name: str, value: Any, origin: str) -> Any:
    """A value without the password of a database."""
    if name in ("store", "feed", "inbox") and value:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        from tamis.service.settings import SettingsError

        try:
            return make_url(value).render_as_string(hide_password=True)
        except ArgumentError as error:  # the text itself may have a password: it is not shown
            msg = f"{origin}: {name}: expected the URL of a database, as postgresql://host/name"
            raise SettingsError(msg) from error
    return list(value) if isinstance(value, tuple) else value


def _toml(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
