"""How Kafka is reached: encrypted or not, and as whom; the same for Spark's connector and for Kafka's client.

The password is in no text that this module gives to people. Certificates go to Spark's workers as texts, which
need no file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tamis.errors import TamisError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
PASSWORD = "TAMIS_KAFKA_PASSWORD"
"""The variable of the environment that has the password, where no file does."""


class KafkaSecurityError(TamisError):
    """How Kafka is to be reached is not what it should be."""


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """How Kafka is reached.

    Attributes:
        protocol: As Kafka calls it: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        ca: The certificates, as PEM, of those who vouch for the brokers; those of the system if empty.
        mechanism: Of SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
        user: Of SASL.
        password: Of SASL.
    """

    protocol: str = "PLAINTEXT"
    ca: str = field(default="", repr=False)
    mechanism: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def read(
        cls,
        *,
        protocol: str = "PLAINTEXT",
        ca_file: str = "",
        mechanism: str = "",
        user: str = "",
        password: str | None = None,
        password_file: str = "",
    ) -> KafkaSecurity:
        """What is given, with the contents of the files.

        Args:
            protocol: As Kafka calls it.
            ca_file: A file of certificates as PEM.
            mechanism: Of SASL; SCRAM-SHA-512 if it is not given.
            user: Of SASL.
            password: Of SASL; what the environment has if it is None and there is no file.
            password_file: A file with the password, without white space around it.

        Raises:
            KafkaSecurityError: Something is missing or is not what it should be, or a file cannot be read.
        """
        if protocol not in PROTOCOLS:
            msg = f"protocol: expected {', '.join(PROTOCOLS)}, found {protocol!r}"
            raise KafkaSecurityError(msg)
        ca = _read(ca_file, "ca_file") if ca_file else ""
        if ca and not protocol.endswith("SSL"):
            msg = f"ca_file: expected the protocol SSL or SASL_SSL with it, found {protocol}"
            raise KafkaSecurityError(msg)
        if not protocol.startswith("SASL"):
            if user or mechanism or password_file:
                msg = f"user, mechanism, password: expected the protocol SASL_SSL with them, found {protocol}"
                raise KafkaSecurityError(msg)
            return cls(protocol, ca)
        mechanism = mechanism or "SCRAM-SHA-512"
        if mechanism not in MECHANISMS:
            msg = f"mechanism: expected {', '.join(MECHANISMS)}, found {mechanism!r}"
            raise KafkaSecurityError(msg)
        secret = _read(password_file, "password_file").strip() if password_file else password
        secret = os.environ.get(PASSWORD, "") if secret is None else secret
        if not user or not secret:
            lacking = "user" if not user else "password"
            msg = f"{lacking}: {protocol} needs one; a password is in a file, or in the variable {PASSWORD}"
            raise KafkaSecurityError(msg)
        return cls(protocol, ca, mechanism, user, secret)

    def spark_options(self) -> dict[str, str]:
        """The options of Spark's connector."""
        if self.protocol == "PLAINTEXT":
            return {}
        found = {"kafka.security.protocol": self.protocol}
        if self.ca:
            found |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.certificates": self.ca}
        if self.mechanism:
            login = f"username={_quote(self.user)} password={_quote(self.password)}"
            found["kafka.sasl.mechanism"] = self.mechanism
            found["kafka.sasl.jaas.config"] = f"{MECHANISMS[self.mechanism]} required {login};"
        return found

    def client_settings(self) -> dict[str, str]:
        """The settings of Kafka's client for Python."""
        if self.protocol == "PLAINTEXT":
            return {}
        found = {"security.protocol": self.protocol}
        if self.ca:
            found["ssl.ca.pem"] = self.ca
        if self.mechanism:
            login = {"sasl.username": self.user, "sasl.password": self.password}
            found |= {"sasl.mechanism": self.mechanism, **login}
        return found


def _read(path: str, name: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        msg = f"{name}: {path}: {reason}"
        raise KafkaSecurityError(msg) from error


def _quote(text: str) -> str:
    """A text as Java's login configuration quotes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
