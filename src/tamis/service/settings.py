"""The settings of the service: from a file, the environment and the command line; later sources win.

Each setting is named once, here: its name in the file, `TAMIS_` and the name in capitals in the environment, and
the option of `tamis serve`, where there is one.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from tamis.errors import TamisError
from tamis.events.misfits import check_on_misfit
from tamis.events.schemas import Problems
from tamis.operators.discovery import INSTALLED, OperatorSettings
from tamis.operators.library import LIBRARY
from tamis.service.kafka import KafkaError, Topic
from tamis.spark.kafka_security import KafkaSecurity, KafkaSecurityError
from tamis.spark.pipeline_operators import read_operators
from tamis.spark.toml_tables import TomlTable
from tamis.verification.search import GREEDY, check_order

PREFIX = "TAMIS_"
PORT = 8765


_ABOVE_ZERO = (
    "trigger_seconds",
    "request_seconds",
    "keep_events_days",
    "keep_feed_days",
    "keep_attempts_days",
    "keep_changes_days",
    "webhook_timeout_seconds",
)


_SITE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_PEER = ("name", "url", "token")


class SettingsError(TamisError):
    """A setting is not what it should be: the message says which one, and where it was found."""


def _setting(default: Any, help: str, *, secret: bool = False) -> Any:
    if isinstance(default, list):
        metadata = {"help": help, "secret": secret}
        return field(default_factory=lambda: tuple(default), metadata=metadata, repr=not secret)
    return field(default=default, metadata={"help": help, "secret": secret}, repr=not secret)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """All settings; the help of each says what it is."""

    host: str = _setting("127.0.0.1", "Address to listen on.")
    port: int = _setting(PORT, "Port to listen on; 0 for any free one.")
    data: str = _setting("tamis-data", "Folder of everything that is not in a database of its own.")
    store: str = _setting("", "URL of the database of subscriptions; by default store.db in the folder.")
    feed: str = _setting("", "URL of the database of notifications; by default feed.db in the folder.")
    inbox: str = _setting("", "URL of the database of published events; by default inbox.db in the folder.")
    kafka: str = _setting("", "Kafka as kafka://host:port,host:port/topic that the stream reads events from.")
    kafka_protocol: str = _setting(
        "PLAINTEXT", "How Kafka is reached: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
    )
    kafka_ca_file: str = _setting(
        "", "Certificates, as PEM, that vouch for Kafka; by default those of the system."
    )
    kafka_mechanism: str = _setting("", "Of SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, which is the default.")
    kafka_user: str = _setting("", "Of SASL.")
    kafka_password: str = _setting("", "Of SASL; better in the environment or in a file of its own.", secret=True)
    kafka_password_file: str = _setting("", "A file with the password of SASL.")
    stream: bool = _setting(True, "Run the stream in a process of the service's own?")
    master: str = _setting("local[*]", "Spark's master.")
    memory: str = _setting("2g", "Memory of Spark's driver.")
    spark: tuple[str, ...] = _setting([], "More settings of Spark's, as name=value.")
    shards: int = _setting(1, "Into how many shards subscriptions are partitioned, those of a tenant together.")
    trigger_seconds: float = _setting(0.2, "How often the stream looks for events.")
    batch_events: int = _setting(50_000, "Most events of a batch.")
    most_waiting: int = _setting(5_000_000, "Events that may wait for the stream; then publishing answers 503.")
    hosts: tuple[str, ...] = _setting([], "Names under which the service may be asked, besides its address.")
    validity_seconds: int = _setting(86_400, "How long a subscription lasts that does not say so.")
    longest_validity_seconds: int = _setting(366 * 86_400, "How long a subscription may last.")
    event_bytes: int = _setting(1 << 20, "Longest event.")
    request_bytes: int = _setting(64 << 20, "Longest request.")
    request_events: int = _setting(100_000, "Most events of a request.")
    request_seconds: float = _setting(
        30.0, "How long a request may take to arrive; a second more for each 16 KiB."
    )
    on_misfit: str = _setting(
        "null",
        "Of an event that does not fit its type: null, matched with NULL there and counted; dead letter; or "
        "refuse, publishing it answers 422.",
    )
    keep_attributes: tuple[str, ...] = _setting(
        [], "Attributes of events that notifications carry along, in feed and webhooks."
    )
    keep_events_days: float = _setting(7.0, "How long published events are kept.")
    keep_feed_days: float = _setting(30.0, "How long notifications, failed deliveries and dead letters are kept.")
    keep_attempts_days: float = _setting(30.0, "How long the record of calls of webhooks is kept.")
    keep_changes_days: float = _setting(366.0, "How long changes of subscriptions are kept, for their history.")
    anonymous_publish: bool = _setting(False, "May anybody publish to the tenant `default`, without a token?")
    webhook_attempts: int = _setting(12, "How often a webhook is tried before its notification is parked.")
    webhook_pause_after: int = _setting(5, "Failed deliveries in a row after which a webhook is paused; 0: never.")
    webhook_networks: tuple[str, ...] = _setting([], "Private networks that webhooks may call, as 10.1.0.0/16.")
    webhook_timeout_seconds: float = _setting(10.0, "How long a receiver may take.")
    webhook_base_seconds: float = _setting(1.0, "The wait after the first failed call; it doubles with each.")
    site: str = _setting("", "The name of this site among those that it is linked with; empty: no links.")
    peers: tuple[str, ...] = _setting(
        [],
        "Neighbours, as [[peers]] with name, url and token; elsewhere with blanks between the three.",
        secret=True,
    )
    link_bytes: int = _setting(0, "Most bytes of the routing entries sent to a neighbour; 0: entries are exact.")
    link_measure: str = _setting("occurrence", "By which measure entries are pruned that take more bytes.")
    link_merging: bool = _setting(True, "Are entries of one form merged, with wider bounds, before any is pruned?")
    link_cutoff: bool = _setting(
        False, "Are entries generalised as far as that pays, by measured filter time and events sent in vain?"
    )
    link_advertisements: bool = _setting(
        False, "Do entries go only where overlapping events are advertised, of tenants whose events must conform?"
    )
    operators: OperatorSettings = _setting(  # noqa: RUF009 - it gives a field, as for the others
        INSTALLED, "Modules with operators and names of the library's; in a file also `[operators]` with settings."
    )
    call_order: str = _setting(GREEDY, "Which call of an operator is made next.")
    log_level: str = _setting("info", "debug, info, warning or error.")

    def __post_init__(self) -> None:
        problems = []
        for name in _ABOVE_ZERO:
            if not getattr(self, name) > 0:
                problems.append(f"{name}: expected more than 0, found {getattr(self, name)}")
        above = ("shards", "batch_events", "most_waiting", "validity_seconds", "event_bytes")
        for name in (*above, "request_bytes", "request_events"):
            if getattr(self, name) < 1:
                problems.append(f"{name}: expected 1 or more, found {getattr(self, name)}")
        if self.webhook_pause_after < 0:
            problems.append(f"webhook_pause_after: expected 0 or more, found {self.webhook_pause_after}")
        for each in self.spark:
            if not re.fullmatch(r"spark\.[\w.-]+=.*", each, re.DOTALL):
                problems.append(f"spark: expected spark.name=value, found {each!r}")
        if self.kafka:
            try:
                self.kafka_topic()
            except (KafkaError, KafkaSecurityError) as error:
                problems.append(f"kafka: {error}")
        if not 0 <= self.port <= 65_535:
            problems.append(f"port: expected 0 to 65535, found {self.port}")
        try:
            check_on_misfit(self.on_misfit)
        except ValueError as error:
            problems.append(str(error))
        problems += self._link_problems()
        try:
            check_order(self.call_order)
        except ValueError as error:
            problems.append(f"call_order: {error}")
        if self.log_level not in ("debug", "info", "warning", "error"):
            problems.append(f"log_level: expected debug, info, warning or error, found {self.log_level!r}")
        if problems:
            raise SettingsError("; ".join(problems))

    def _link_problems(self) -> list[str]:
        """What is wrong with the settings of links."""
        problems = []
        if self.site and _SITE.fullmatch(self.site) is None:
            problems.append(f"site: expected 1 to 63 of a-z, 0-9 and -, not starting with -, found {self.site!r}")
        if self.peers and not self.site:
            problems.append("peers: a service with neighbours needs a name of its own: set site")
        if self.site and self.kafka:
            problems.append("site: events that the stream reads from Kafka cannot be sent to neighbours")
        if self.link_bytes < 0:
            problems.append(f"link_bytes: expected 0 or more, found {self.link_bytes}")
        if self.link_bytes > 0:
            from tamis.routing.generalisation import known_measures  # it takes its time

            if self.link_measure not in known_measures():
                expected = ", ".join(known_measures())
                problems.append(f"link_measure: expected one of {expected}, found {self.link_measure!r}")
        if any(len(each.split()) != len(_PEER) for each in self.peers):
            problems.append(f"peers: expected {', '.join(_PEER)} of each, with blanks between them")
        return problems

    @property
    def folder(self) -> Path:
        """The folder of the service."""
        return Path(self.data).absolute()

    def spark_settings(self) -> dict[str, str]:
        """The settings of Spark by name."""
        return {name: value for name, _, value in (each.partition("=") for each in self.spark)}

    def kafka_topic(self) -> Topic:
        """The topic that `kafka` names, and how it is reached.

        Raises:
            KafkaError: It names none.
            KafkaSecurityError: How it is reached is not what it should be, or a file cannot be read.
        """
        security = KafkaSecurity.read(
            protocol=self.kafka_protocol,
            ca_file=self.kafka_ca_file,
            mechanism=self.kafka_mechanism,
            user=self.kafka_user,
            password=self.kafka_password,
            password_file=self.kafka_password_file,
        )
        return Topic.of(self.kafka, security)

    def database(self, name: str) -> str:
        """The URL of one of the databases `store`, `feed` and `inbox`."""
        given: str = getattr(self, name)
        return given or f"sqlite:///{self.folder / f'{name}.db'}"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and where each of them comes from.

    Attributes:
        settings: All of them.
        origins: By name, `default`, the file, the variable of the environment, or the option.
    """

    settings: ServiceSettings
    origins: dict[str, str]


def load(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> LoadedSettings:
    """The settings of a file, of the environment and of options; those of options win, then the environment's.

    Args:
        file: A TOML file; without it, the one that TAMIS_CONFIG names.
        environment: Variables; those of the process by default.
        options: Settings by name; those that are None were not given.

    Raises:
        SettingsError: One of them is unknown or not what it should be.
    """
    environment = os.environ if environment is None else environment
    types = get_type_hints(ServiceSettings)
    values: dict[str, Any] = {}
    origins = {each.name: "default" for each in fields(ServiceSettings)}
    file = file or environment.get(f"{PREFIX}CONFIG")
    if file is not None:
        for name, value in _with_peers(_read_file(Path(file)), os.fspath(file)).items():
            if name not in types:
                msg = f"{os.fspath(file)}: there is no setting {name!r}; known are {', '.join(types)}"
                raise SettingsError(msg)
            is_table = types[name] is OperatorSettings and isinstance(value, Mapping)
            given = _operator_table(value, Path(file)) if is_table else value
            values[name] = _check_type(types[name], given, f"{os.fspath(file)}: {name}")
            origins[name] = os.fspath(file)
    for name, type_ in types.items():
        variable = PREFIX + name.upper()
        if variable in environment:
            values[name] = _parse(type_, environment[variable], variable)
            origins[name] = variable
    for name, value in (options or {}).items():
        if value is not None:
            values[name] = _check_type(types[name], value, f"--{name.replace('_', '-')}")
            origins[name] = f"--{name.replace('_', '-')}"
    return LoadedSettings(ServiceSettings(**values), origins)


def parse_setting(name: str, text: str, place: str) -> Any:
    """The value of a setting that was given as a text.

    Raises:
        SettingsError: There is no such setting, or that is no value of it.
    """
    types = get_type_hints(ServiceSettings)
    if name not in types:
        msg = f"{place}: there is no setting {name!r}; known are {', '.join(types)}"
        raise SettingsError(msg)
    return _parse(types[name], text, place)


def describe_settings() -> list[tuple[str, Any, str]]:
    """Each setting: its name, its default and its help."""
    return [(each.name, _default(each), each.metadata["help"]) for each in fields(ServiceSettings)]


def is_secret(name: str) -> bool:
    """May nobody see the value of this setting?"""
    return any(each.name == name and each.metadata.get("secret") for each in fields(ServiceSettings))


def _default(each: Field[Any]) -> Any:
    if each.default is INSTALLED:
        return ()  # as a file would have it
    return each.default if each.default_factory is MISSING else each.default_factory()


def _read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{file}: {error.strerror or error}"
        raise SettingsError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file}: not a TOML file: {error}"
        raise SettingsError(msg) from error


def _with_peers(found: dict[str, Any], file: str) -> dict[str, Any]:
    """The settings of a file, with each table of `[[peers]]` as the one text that it is elsewhere."""
    tables = found.get("peers", [])
    if not isinstance(tables, list) or all(isinstance(each, str) for each in tables):
        return found
    texts = []
    for number, each in enumerate(tables, 1):
        if (
            not isinstance(each, dict)
            or {*each} != {*_PEER}
            or not all(isinstance(each[name], str) for name in _PEER)
        ):
            msg = f"{file}: [[peers]], table {number}: expected the texts {', '.join(_PEER)} and no others"
            raise SettingsError(msg)
        texts.append(" ".join(each[name] for name in _PEER))
    return {**found, "peers": texts}


def _check_type(type_: Any, value: Any, place: str) -> Any:
    """A value of a file or an option, which has a type already."""
    if type_ is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_ in (OperatorSettings, tuple[str, ...]) and not isinstance(value, OperatorSettings):
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return _named_operators(value) if type_ is OperatorSettings else tuple(value)
    elif isinstance(value, type_) and (type_ is bool or not isinstance(value, bool)):
        return value
    msg = f"{place}: expected {_type_name(type_)}, found {value!r}"
    raise SettingsError(msg)


def _parse(type_: Any, text: str, place: str) -> Any:
    """A value of the environment, which is a text."""
    try:
        if type_ is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.lower()]
        if type_ in (OperatorSettings, tuple[str, ...]):
            return _check_type(type_, [part.strip() for part in text.split(",") if part.strip()], place)
        return type_(text)
    except (ValueError, KeyError) as error:
        msg = f"{place}: expected {_type_name(type_)}, found {text!r}"
        raise SettingsError(msg) from error


def _named_operators(names: Sequence[str]) -> OperatorSettings:
    """Operators that are named only: subjects of the library, with their default settings, and modules."""
    library: dict[str, dict[str, Any]] = {name: {} for name in names if name in LIBRARY}
    return OperatorSettings(tuple(name for name in names if name not in library), library)


def _operator_table(content: Mapping[str, Any], file: Path) -> OperatorSettings:
    problems = Problems()
    found, _ = read_operators(TomlTable("", {"operators": content}, file.absolute().parent, problems))
    if "allowed" in content:
        problems.add("operators.allowed", "is unknown; the right `operators` of a tenant says what it may call")
    if problems.found:
        raise SettingsError(f"{file}: " + "; ".join(problems.found))
    return found


def _type_name(type_: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return names.get(type_, "a list of texts")
