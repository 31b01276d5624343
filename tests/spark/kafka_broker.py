"""A real Kafka broker of one node, and Spark's connector to it: jars from Maven, a process that ends with us."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import __version__ as spark_version

from tests.servers import NoServerError

_BROKER = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tamis</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>3.9.1</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
# The connector of Spark's own version, or else the newest before it that Maven has, part by part.
_CONNECTOR = {
    "org.apache.spark:spark-sql-kafka-0-10_2.13": (spark_version, "4.2.0", "4.1.1", "4.0.0"),
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13": (spark_version, "4.2.0", "4.1.1", "4.0.0"),
    "org.apache.kafka:kafka-clients": ("3.9.1",),
    "org.apache.commons:commons-pool2": ("2.12.1",),
}
_START_SECONDS = 180


def connector(folder: Path) -> list[Path]:
    """The jars of Spark's connector.

    Raises:
        NoServerError: Maven is not there.
    """
    for artifact, versions in _CONNECTOR.items():
        for version in versions:
            wanted = ["dependency:copy", f"-Dartifact={artifact}:{version}", f"-DoutputDirectory={folder}"]
            if _maven(wanted, folder).returncode == 0:
                break
        else:
            msg = f"Maven has no {artifact} of {', '.join(versions)}"
            raise AssertionError(msg)
    return sorted(folder.glob("*.jar"))


USER, PASSWORD = "tamis", 'a "quoted" \\ password'
"""Of a secure broker."""
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def certificates(folder: Path) -> Path:
    """Make a certificate authority, and `server.pem`, the key and certificate of 127.0.0.1; gives the former."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
    commands = [
        ["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=tamis tests"],
        ["req", *key[:3], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1"],
        [
            *("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-out", "server.crt", "-extfile", "names"),
        ],
    ]
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for command in commands:
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    (folder / "server.pem").write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())
    return folder / "ca.pem"


def _security(ca: Path) -> dict[str, str]:
    """Settings of a broker that wants TLS, and a user with a password by SCRAM or PLAIN."""
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    users = {_LOGIN: f'username="{USER}" password="{quoted}"', _PLAIN: f'user_{USER}="{quoted}"'}
    login, plain = (f"{module} {text};".replace("\\", "\\\\") for module, text in users.items())  # for the file
    return {
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": login,
        "listener.name.sasl_ssl.plain.sasl.jaas.config": plain,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(ca.with_name("server.pem")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
    }


@contextmanager
def broker(folder: Path, ca: Path | None = None) -> Iterator[str]:
    """A broker that keeps its data in a folder; gives its address.

    Args:
        folder: It is made.
        ca: What `certificates` gave, for a broker that wants TLS and SASL.

    Raises:
        NoServerError: Maven is not there.
    """
    protocol = "PLAINTEXT" if ca is None else "SASL_SSL"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_BROKER)
    made = _maven(["dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}"], folder)
    assert made.returncode == 0, made.stdout
    ports = _free_ports(2)
    listeners = [f"{name}://127.0.0.1:{port}" for name, port in zip((protocol, "CONTROLLER"), ports, strict=True)]
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{ports[1]}",
        "listeners": ",".join(listeners),
        "advertised.listeners": listeners[0],
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocol}:{protocol}",
        "log.dirs": str(folder / "data"),
        "num.partitions": "2",
        **{f"{topic}.replication.factor": "1" for topic in ("offsets.topic", "transaction.state.log")},
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **({} if ca is None else _security(ca)),
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    java = [str(Path(os.environ["JAVA_HOME"]) / "bin" / "java"), "-Xmx300m", "-cp", str(folder / "jars" / "*")]
    format_ = [*java, "kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", str(file)]
    if ca is not None:
        format_ += ["--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"]
    subprocess.run(format_, check=True, capture_output=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(file)], stdout=log, stderr=log)
    try:
        _wait_for(process, folder / "log", ports[0])
        yield f"127.0.0.1:{ports[0]}"
    finally:
        process.kill()
        process.wait()


def _maven(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("mvn")
    if program is None:
        msg = "Maven (mvn) is not installed"
        raise NoServerError(msg)
    if Path(os.environ["JAVA_HOME"]).is_relative_to(sys.prefix):
        msg = "Maven and Kafka need a whole Java, and the packaged one has been trimmed for Spark"
        raise NoServerError(msg)
    return subprocess.run(
        [program, "-q", "-B", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def _wait_for(process: subprocess.Popen[bytes], log: Path, port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if "Kafka Server started" in log.read_text(errors="replace"):
            with socket.create_connection(("127.0.0.1", port), 5):
                return
        time.sleep(0.1)
    msg = f"the broker did not start:\n{log.read_text(errors='replace')[-3_000:]}"
    raise AssertionError(msg)
