"""`tamis serve` and `tamis config`: the service and its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.operators.discovery import OperatorSettings
    from tamis.service.core import Service
    from tamis.service.settings import LoadedSettings
    from tamis.service.supervisor import State, Supervisor

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
    typer.Option("--data", metavar="FOLDER", help="The folder for all data; by default tamis-data."),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other setting, as `tamis config` lists them."),
]


def serve(host: Host = None, port: Port = None, data: Data = None, config: File = None, set: Set = None) -> None:
    """Run the service: subscriptions, publishing and notifications over HTTP, and a web page.

    One process serves requests, another runs Spark; both end after the current batch on Ctrl-C or SIGTERM.
    Accepted requests are on disk: after a restart, or a crash, the service resumes where it was. The first start
    creates an administrator token, and prints the name of its file.

    \b
    Examples:
      tamis serve
      tamis serve --port 8080 --data /var/lib/tamis
      tamis serve --config tamis.toml --set anonymous_publish=true

    Exit code 0 if the service was stopped, 2 if it could not run.
    """
    from tamis.cli.output import Screen, needs_extra, printing_errors

    with needs_extra("service"):
        from tamis.service.logs import configure
        from tamis.service.server import serve as serving
    with printing_errors():
        found = _load_settings(host, port, data, config, set)
        settings = found.settings
        for name, origin in found.origins.items():
            _public_value(name, getattr(settings, name), origin)  # raises if the value is invalid
        configure(settings.log_level)

        def announce(service: Service, address: str) -> None:
            screen, token = Screen(), service.first_token()
            screen.say(f"tamis listens at {address}, data in {settings.folder}")
            if token is not None:
                screen.say(f"the administrator's token is in {token}")
                screen.say(f"  export TAMIS_URL={address} TAMIS_TOKEN=$(cat {token})")
            if service.supervisor is not None:
                _report_readiness(service.supervisor, screen.say)
            if settings.host not in ("127.0.0.1", "::1", "localhost"):
                screen.say("it can be reached from other machines, without encryption: put a TLS proxy before it")

        with _end_at_signals():
            serving(settings, announce)


def _report_readiness(supervisor: Supervisor, say: Callable[[str], None]) -> None:
    """Say what the stream does now, and one line whenever it begins to warm up or is ready."""
    import time

    began = time.monotonic()

    def report(state: State) -> None:
        nonlocal began
        if state == "warming up":
            began = time.monotonic()
            say("warming up: events are accepted, and matched once test events have passed through the stream")
        elif state == "running":
            say(f"ready after {time.monotonic() - began:.1f} s: events are matched")

    if supervisor.reason is not None:
        say(f"events are not matched yet, they wait: {supervisor.reason}")
    else:
        report(supervisor.state)
    supervisor.on_change = report


def config(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    config: File = None,
    set: Set = None,
    json: Json = False,
) -> None:
    """Show all settings of the service, with their origin and meaning.

    Options take precedence over environment variables (TAMIS_ and the name in capitals), and these over the file.

    \b
    Examples:
      tamis config
      TAMIS_PORT=8080 tamis config --config tamis.toml --json

    Exit code 2 if a setting is invalid.
    """
    from tamis.cli.output import JsonLines, Screen, needs_extra, printing_errors

    with needs_extra("service"):
        from tamis.service.settings import describe_settings
    with printing_errors():
        found = _load_settings(host, port, data, config, set)
        helps = {name: help for name, _, help in describe_settings()}
        for name, origin in found.origins.items():
            value = _public_value(name, getattr(found.settings, name), origin)
            if json:
                JsonLines().write({"name": name, "value": value, "origin": origin, "help": helps[name]})
            else:
                Screen().say(f"{name} = {_toml(value)}  # {helps[name]} [{origin}]")


def _load_settings(
    host: str | None, port: int | None, data: str | None, config: str | None, set: list[str] | None
) -> LoadedSettings:
    from dataclasses import replace

    from tamis.service.settings import SettingsError, load, parse_setting

    options: dict[str, Any] = {}
    for each in set or []:
        name, equals, text = each.partition("=")
        if not equals:
            msg = f"--set: expected NAME=VALUE, found {each!r}"
            raise SettingsError(msg)
        options[name] = parse_setting(name, text, f"--set {name}")
    given = {"host": host, "port": port, "data": data}
    named = {name: value for name, value in given.items() if value is not None}
    found = load(config, options=options | named)
    origins = {name: f"--set {name}" for name in options if name not in named}
    return replace(found, origins=found.origins | origins)


@contextmanager
def _end_at_signals() -> Iterator[None]:
    """Exit with code 0 on SIGTERM and SIGINT.

    While the server listens, it handles signals itself, and raises them again when it has ended.
    """
    import signal

    from tamis.cli.signals import handle_signals

    def end(_: int) -> None:
        raise typer.Exit(0)

    with handle_signals(end, signal.SIGTERM, signal.SIGINT):
        yield


def _public_value(name: str, value: Any, origin: str) -> Any:
    """The value of a setting, without passwords."""
    from tamis.service.settings import SettingsError, is_secret

    if is_secret(name) and value:
        return "***"
    if name in ("store", "feed", "inbox") and value:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            return make_url(value).render_as_string(hide_password=True)
        except ArgumentError as error:  # the text may contain a password, so it is not printed
            msg = f"{origin}: {name}: expected the URL of a database, such as postgresql://host/name"
            raise SettingsError(msg) from error
    if name == "operators":
        return _public_operators(value)
    return list(value) if isinstance(value, tuple) else value


def _public_operators(operators: OperatorSettings) -> list[str] | dict[str, Any]:
    """Names, if there are no settings; URLs of databases without their passwords."""
    from tamis.urls import without_secrets

    if not any(operators.library.values()):
        return [*operators.modules, *operators.library]
    modules = {"modules": [*operators.modules]} if operators.modules else {}
    return modules | {
        name: {key: without_secrets(value) if key == "url" else value for key, value in settings.items()}
        for name, settings in operators.library.items()
    }


def _toml(value: Any) -> str:
    import json

    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
