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
from tamis.service.neighbours import Neighbour, NeighbourError, neighbour_text, read_neighbour
from tamis.sinks.kafka_security import KafkaSecurity, KafkaSecurityError
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
    "webhook_pause_seconds",
    "webhook_timeout_seconds",
)


_LATEST_SECONDS = 366 * 86_400
"""Who waits longer for events keeps everything."""
_SITE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


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
    data: str = _setting("tamis-data", "Folder for everything that is not in a separate database.")
    store: str = _setting("", "URL of the database of subscriptions; by default store.db in the folder.")
    feed: str = _setting("", "URL of the database of notifications; by default feed.db in the folder.")
    inbox: str = _setting("", "URL of the database of published events; by default inbox.db in the folder.")
    kafka: str = _setting(
        "", "Kafka topic that the stream reads events from, as kafka://host:port,host:port/topic."
    )
    kafka_protocol: str = _setting(
        "PLAINTEXT", "Security protocol of Kafka: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
    )
    kafka_ca_file: str = _setting("", "PEM file of CA certificates for Kafka; by default those of the system.")
    kafka_mechanism: str = _setting("", "SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, the default.")
    kafka_user: str = _setting("", "SASL user.")
    kafka_password: str = _setting(
        "", "SASL password; better in the environment or in a separate file.", secret=True
    )
    kafka_password_file: str = _setting("", "File with the SASL password.")
    stream: bool = _setting(True, "Whether the service runs the stream, in a separate process.")
    master: str = _setting("local[*]", "Spark master.")
    memory: str = _setting("2g", "Memory of the Spark driver.")
    spark: tuple[str, ...] = _setting([], "More Spark settings, as name=value.")
    shards: int = _setting(1, "Number of shards of subscriptions; those of a tenant are kept together.")
    shard_limit: int = _setting(
        0, "Maximum number of subscriptions of a shard, which is split beyond it; 0: there are `shards` shards."
    )
    shard_bytes: int = _setting(16 << 20, "Maximum bytes of the routing entries that send events to shards.")
    shard_measure: str = _setting("common", "Measure by which entries that exceed `shard_bytes` are generalised.")
    shard_merging: bool = _setting(
        False, "Whether entries of shards that have one form are merged, before any is generalised."
    )
    shard_cutoff: bool = _setting(
        False, "Whether to generalise entries of shards as far as that pays, by measured time and visits in vain."
    )
    trigger_seconds: float = _setting(0.2, "How often the stream looks for events.")
    batch_events: int = _setting(50_000, "Maximum number of events in a batch.")
    most_waiting: int = _setting(
        5_000_000, "Maximum number of events waiting for the stream; beyond it, publishing answers 503."
    )
    hosts: tuple[str, ...] = _setting([], "Host names of the service, in addition to its address.")
    validity_seconds: int = _setting(86_400, "Default validity of a subscription.")
    longest_validity_seconds: int = _setting(366 * 86_400, "Maximum validity of a subscription.")
    event_bytes: int = _setting(1 << 20, "Maximum size of an event.")
    request_bytes: int = _setting(64 << 20, "Maximum size of a request.")
    request_events: int = _setting(100_000, "Maximum number of events in a request.")
    request_seconds: float = _setting(
        30.0, "Time in which a request must arrive; one more second for each 16 KiB."
    )
    on_misfit: str = _setting(
        "null",
        "What to do with an event that does not fit its type: null (match it with NULL there, and count it), "
        "dead letter, or refuse (publishing answers 422).",
    )
    keep_attributes: tuple[str, ...] = _setting(
        [], "Attributes of the event that notifications include, in feed and webhooks."
    )
    keep_events_days: float = _setting(7.0, "How long published events are kept.")
    keep_feed_days: float = _setting(30.0, "How long notifications, failed deliveries and dead letters are kept.")
    keep_attempts_days: float = _setting(30.0, "How long the record of webhook calls is kept.")
    keep_changes_days: float = _setting(
        366.0, "How long the history of subscriptions is kept, and those that ended with it."
    )
    anonymous_publish: bool = _setting(
        False, "Whether anybody may publish to the tenant `default` without a token."
    )
    webhook_attempts: int = _setting(12, "Calls of a webhook before its notification is parked.")
    webhook_pause_after: int = _setting(5, "Failed deliveries in a row after which a webhook is paused; 0: never.")
    webhook_pause_calls: int = _setting(
        10, "Failed calls in a row after which a webhook is paused, if they go on for long enough; 0: never."
    )
    webhook_pause_seconds: float = _setting(900.0, "How long the calls have to fail for that.")
    webhook_networks: tuple[str, ...] = _setting(
        [], "Private networks that webhooks may call, such as 10.1.0.0/16."
    )
    webhook_timeout_seconds: float = _setting(10.0, "Time in which a receiver must answer.")
    webhook_base_seconds: float = _setting(
        1.0, "Wait after the first failed call; it doubles with each further one."
    )
    site: str = _setting("", "Name of this site among linked sites; empty: no links.")
    peers: tuple[str, ...] = _setting(
        [],
        "Neighbours: in a file [[peers]] with name, url and token, and optionally link_bytes, link_measure and "
        "link_merging of their own; elsewhere the three, and link_bytes=... and so on, separated by spaces.",
        secret=True,
    )
    link_bytes: int = _setting(0, "Maximum bytes of the routing entries sent to a neighbour; 0: no limit.")
    link_measure: str = _setting("occurrence", "Measure by which entries that exceed `link_bytes` are pruned.")
    link_merging: bool = _setting(
        True, "Whether entries that differ only in constants are merged (with wider bounds) before pruning."
    )
    link_cutoff: bool = _setting(
        True,
        "Whether to generalise entries as long as the total cost of filtering and of events sent without a match "
        "falls.",
    )
    link_advertisements: bool = _setting(
        False,
        "Whether entries go only where overlapping events are advertised, for tenants whose events must conform.",
    )
    operators: OperatorSettings = _setting(  # noqa: RUF009 - it gives a field, as for the others
        INSTALLED,
        "Modules with operators, and names from the library; in a file also `[operators]` with settings.",
    )
    composite_lateness_seconds: float = _setting(
        0.0, "How far behind the latest event another may arrive and still count for composite subscriptions."
    )
    call_order: str = _setting(GREEDY, "Order of operator calls.")
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
        for name in ("webhook_pause_after", "webhook_pause_calls"):
            if getattr(self, name) < 0:
                problems.append(f"{name}: expected 0 or more, found {getattr(self, name)}")
        if not 0 <= self.composite_lateness_seconds <= _LATEST_SECONDS:
            found = self.composite_lateness_seconds
            problems.append(f"composite_lateness_seconds: expected 0 to {_LATEST_SECONDS}, found {found}")
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
        problems += self._shard_problems()
        problems += self._link_problems()
        try:
            check_order(self.call_order)
        except ValueError as error:
            problems.append(f"call_order: {error}")
        if self.log_level not in ("debug", "info", "warning", "error"):
            problems.append(f"log_level: expected debug, info, warning or error, found {self.log_level!r}")
        if problems:
            raise SettingsError("; ".join(problems))

    def _shard_problems(self) -> list[str]:
        """What is wrong with the settings of shards."""
        problems = [
            f"{name}: expected 0 or more, found {getattr(self, name)}"
            for name in ("shard_limit", "shard_bytes")
            if getattr(self, name) < 0
        ]
        return problems + _measure_problems("shard_measure", self.shard_measure)

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
        problems += _measure_problems("link_measure", self.link_measure)
        for each in self.peers:
            try:
                read_neighbour(each)
            except NeighbourError as error:
                problems.append(f"peers: {error}")
        return problems

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """The neighbours that `peers` names."""
        return tuple(map(read_neighbour, self.peers))

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


def _measure_problems(name: str, measure: str) -> list[str]:
    """What is wrong with a measure of routing entries."""
    if measure == _default(ServiceSettings.__dataclass_fields__[name]):
        return []  # to look the others up takes its time
    from tamis.routing.generalisation import known_measures

    if measure in known_measures():
        return []
    return [f"{name}: expected one of {', '.join(known_measures())}, found {measure!r}"]


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
        try:
            texts.append(neighbour_text(each))
        except NeighbourError as error:
            msg = f"{file}: [[peers]], table {number}: {error}"
            raise SettingsError(msg) from error
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
