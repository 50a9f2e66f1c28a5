#!/usr/bin/python3
"""One Kafka broker on this machine: `scripts/kafka`.

The broker is its own controller (KRaft), listens on loopback alone, and keeps its files in one data folder. Its jars
come from Maven into a cache folder, once. Topics are made by the broker's own protocol: a client in Java takes seconds
to begin.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
# What the broker is made of. Another list is another folder of the cache.
DEPENDENCIES = (("org.apache.kafka", "kafka_2.13", "4.1.1"), ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"))
# A broker is ready after 6 to 20 s, and on a busy machine later.
READY_WITHIN = 120
# A broker that ends well writes its snapshots first.
STOPPED_WITHIN = 30
ASK_TIMEOUT = 30
JAVA = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}/logs
# A name that is wrong is an error, and no new topic.
auto.create.topics.enable=false
num.partitions=4
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
log.cleaner.dedupe.buffer.size=4194304
"""
LOGGING = """Configuration:
  Appenders:
    Console:
      name: out
      PatternLayout: {pattern: "%d %p %m (%c{1})%n"}
  Loggers:
    Root: {level: WARN, AppenderRef: {ref: out}}
"""
# The exit status where Java or the jars are not to be had; ctest takes it for skipped.
MISSING = 77
# Maven waits long for a repository that does not answer.
JARS_WITHIN = 180
COMMANDS = ("start", "status", "stop", "kill", "topic")
# Requests of Kafka's protocol: (key, version).
METADATA, CREATE_TOPICS, CREATE_PARTITIONS = (3, 1), (19, 2), (37, 0)
UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE = 3, 5


class BrokerError(Exception):
    """It cannot be done, and why."""


class MissingError(BrokerError):
    """What a broker is made of is not to be had on this machine, and why."""


def cache_folder() -> Path:
    """Where jars are kept, and the data of a broker that was given no folder."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "coflux" / "kafka"


def pom() -> str:
    dependencies = "".join(
        f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>\n"
        for group, artifact, version in DEPENDENCIES)
    return ("<project>\n  <modelVersion>4.0.0</modelVersion>\n"
            "  <groupId>coflux</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>\n"
            f"  <dependencies>\n{dependencies}  </dependencies>\n</project>\n")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with what the lock is for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def required(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        raise MissingError(f"there is no {tool}: run scripts/setup --kafka")
    return found


def provide_jars() -> Path:
    """The folder of the jars, which Maven fills once."""
    folder = cache_folder() / "-".join(version for _, _, version in DEPENDENCIES)
    if folder.is_dir():
        return folder
    maven = required("mvn")
    with locked(cache_folder() / "jars.lock"):
        if folder.is_dir():
            return folder
        print(f"scripts/kafka: getting Kafka's jars into {folder}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="jars.") as made:
            work = Path(made)
            (work / "pom.xml").write_text(pom(), encoding="utf-8")
            try:
                done = subprocess.run(
                    [maven, "--batch-mode", "--quiet", "dependency:copy-dependencies", f"-DoutputDirectory={work / 'jars'}"],
                    cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                    timeout=JARS_WITHIN)
            except subprocess.TimeoutExpired:
                raise MissingError(f"Maven could not get Kafka's jars within {JARS_WITHIN} s") from None
            if done.returncode != 0 or not (work / "jars").is_dir():
                raise MissingError(f"Maven could not get Kafka's jars:\n{done.stdout.strip()}")
            (work / "jars").rename(folder)
    return folder


def free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        return server.getsockname()[1]


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


@dataclass
class Answer:
    """The bytes of an answer, read from the front."""

    data: bytes
    at: int = 0

    def number(self, form: str) -> int:
        value, = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        size = max(0, self.number("h"))
        self.at += size
        return self.data[self.at - size:self.at].decode(errors="replace")

    def skip_numbers(self) -> int:
        """An array of 32-bit numbers: how many."""
        count = self.number("i")
        self.at += 4 * count
        return count


def ask(port: int, request: tuple[int, int], body: bytes, timeout: float) -> Answer:
    """One request to the broker. Raises OSError."""
    with socket.create_connection((HOST, port), timeout=timeout) as connection:
        message = struct.pack(">hhi", *request, 1) + text("coflux") + body
        connection.sendall(struct.pack(">i", len(message)) + message)
        received = b""
        while len(received) < 4 or len(received) < 4 + struct.unpack_from(">i", received)[0]:
            more = connection.recv(65536)
            if not more:
                raise ConnectionResetError("the broker closed the connection")
            received += more
    return Answer(received[8:])


def metadata(port: int, topics: list[str], timeout: float = ASK_TIMEOUT) -> tuple[int, dict[str, tuple[int, int]]]:
    """How many brokers there are, and for each topic its error and how many of its partitions have a leader."""
    answer = ask(port, METADATA, struct.pack(">i", len(topics)) + b"".join(map(text, topics)), timeout)
    brokers = answer.number("i")
    for _ in range(brokers):
        answer.number("i"), answer.text(), answer.number("i"), answer.text()
    answer.number("i")  # the controller
    found = {}
    for _ in range(answer.number("i")):
        error, name, _ = answer.number("h"), answer.text(), answer.number("b")
        led = 0
        for _ in range(answer.number("i")):
            answer.number("h"), answer.number("i")
            led += answer.number("i") >= 0
            answer.skip_numbers(), answer.skip_numbers()
        found[name] = (error, led)
    return brokers, found


def topic_request(port: int, request: tuple[int, int], body: bytes) -> None:
    """A request whose answer is a list of topics, each with what went wrong."""
    answer = ask(port, request, struct.pack(">i", 1) + body + struct.pack(">i?", ASK_TIMEOUT * 1000, False), ASK_TIMEOUT)
    answer.number("i")  # the throttle time
    for _ in range(answer.number("i")):
        name, error, message = answer.text(), answer.number("h"), answer.text()
        if error != 0:
            raise BrokerError(f"topic '{name}': {message or f'error {error}'}")


class Broker:
    """The broker of one data folder, whether it runs or not."""

    def __init__(self, data: Path):
        self.data = data.resolve()
        self.settings = self.data / "server.properties"
        self.log = self.data / "broker.log"
        self.pid_file = self.data / "pid"

    def lock_path(self) -> Path:
        return self.data / "lock"

    def pid(self) -> int | None:
        """The number of the process, if it lives and is this broker: numbers come again."""
        try:
            number = int(self.pid_file.read_text(encoding="utf-8"))
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return number if os.fsencode(self.settings) in words else None

    def ports(self) -> tuple[int, int] | None:
        """The ports of the broker and of its controller, as it was started the last time."""
        try:
            found = re.search(r"^listeners=PLAINTEXT://\S+?:(\d+),CONTROLLER://\S+?:(\d+)$",
                              self.settings.read_text(encoding="utf-8"), re.MULTILINE)
        except OSError:
            return None
        return (int(found[1]), int(found[2])) if found else None

    def is_ready(self) -> bool:
        ports = self.ports()
        try:
            return ports is not None and metadata(ports[0], [], timeout=2)[0] > 0
        except (OSError, struct.error):
            return False

    def address(self) -> str:
        ports = self.ports()
        return f"{HOST}:{ports[0] if ports else 0}"

    def begin(self, port: int | None) -> None:
        """Starts the process, and waits until it answers. Raises BrokerError."""
        if self.pid() is None:
            java, jars = required("java"), provide_jars()
            before = self.ports()
            broker = port or (before[0] if before else free_port())
            controller = before[1] if before else free_port()
            self.settings.write_text(PROPERTIES.format(host=HOST, port=broker, controller=controller, data=self.data), encoding="utf-8")
            (self.data / "log4j2.yaml").write_text(LOGGING, encoding="utf-8")
            words = [java, *JAVA, f"-Dlog4j2.configurationFile={self.data / 'log4j2.yaml'}", "-cp", f"{jars}/*"]
            if not (self.data / "logs" / "meta.properties").exists():
                formatted = subprocess.run(
                    [*words, "kafka.tools.StorageTool", "format", "--cluster-id", "Y29mbHV4LWNvZmx1eC0xMQ", "--config", str(self.settings)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                if formatted.returncode != 0:
                    raise BrokerError(f"the data folder could not be formatted:\n{formatted.stdout.strip()}")
            with self.log.open("ab") as log:
                process = subprocess.Popen([*words, "kafka.Kafka", str(self.settings)], stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=subprocess.STDOUT, cwd=self.data, start_new_session=True)
            self.pid_file.write_text(f"{process.pid}\n", encoding="utf-8")
        else:
            process = None
            ports = self.ports()
            if port is not None and ports is not None and ports[0] != port:
                raise BrokerError(f"the broker of {self.data} runs at {self.address()}: stop it first")
        deadline = time.monotonic() + READY_WITHIN
        while not self.is_ready():
            # Its own child: while a process begins, it has no words yet.
            if process.poll() is not None if process is not None else self.pid() is None:
                raise BrokerError(f"the broker has ended: {self.log} has all it said, and these are its last lines\n{self.last_lines()}")
            if time.monotonic() > deadline:
                self.end(signal.SIGKILL)
                raise BrokerError(f"the broker was not ready within {READY_WITHIN} s; {self.log} has what it said")
            time.sleep(0.1)

    def last_lines(self) -> str:
        try:
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        except OSError:
            return ""

    def end(self, how: signal.Signals) -> bool:
        """False: it did not run. Raises BrokerError."""
        pid = self.pid()
        if pid is None:
            return False
        for sent in (how, signal.SIGKILL):
            os.kill(pid, sent)
            deadline = time.monotonic() + STOPPED_WITHIN
            while self.pid() is not None:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            else:
                return True
        raise BrokerError(f"process {pid} does not end")

    def make_topic(self, name: str, partitions: int | None, settings: list[tuple[str, str]]) -> int:
        """How many partitions the topic has now, each of which has a leader. Raises BrokerError."""
        ports = self.ports()
        if self.pid() is None or ports is None:
            raise BrokerError(f"no broker runs with {self.data}: scripts/kafka start")
        error, has = metadata(ports[0], [name])[1][name]
        if error == UNKNOWN_TOPIC:
            configuration = b"".join(text(key) + text(value) for key, value in settings)
            topic_request(ports[0], CREATE_TOPICS, text(name) + struct.pack(">ihii", partitions or 4, 1, 0, len(settings)) + configuration)
        elif error in (0, LEADER_NOT_AVAILABLE):
            if settings:
                raise BrokerError(f"topic '{name}' exists already, and its settings stay as they are")
            if partitions is not None and partitions < has:
                raise BrokerError(f"topic '{name}' has {has} partitions already, and cannot have {partitions}")
            if partitions is not None and partitions > has:
                topic_request(ports[0], CREATE_PARTITIONS, text(name) + struct.pack(">ii", partitions, -1))
        else:
            raise BrokerError(f"topic '{name}': error {error}")
        wanted = partitions or 1
        deadline = time.monotonic() + ASK_TIMEOUT
        while (led := metadata(ports[0], [name])[1][name][1]) < wanted:
            if time.monotonic() > deadline:
                raise BrokerError(f"topic '{name}': its partitions have no leader within {ASK_TIMEOUT} s")
            time.sleep(0.02)
        return led


def carry_out(chosen: argparse.Namespace) -> int:
    broker = Broker(chosen.data or cache_folder() / "data")
    if chosen.command == "status":
        pid = broker.pid()
        print(f"running at {broker.address()}, process {pid}" if pid is not None else f"no broker runs with {broker.data}")
        return 0 if pid is not None else 1
    if chosen.command == "topic":
        settings = [tuple(setting.split("=", 1)) for setting in chosen.config]
        print(f"{chosen.name}: {broker.make_topic(chosen.name, chosen.partitions, settings)} partitions")
        return 0
    if chosen.command in ("stop", "kill") and not broker.data.is_dir():
        print(f"no broker runs with {broker.data}")
        return 0
    if chosen.command == "start":
        required("java")
    with locked(broker.lock_path()):
        if chosen.command == "start":
            broker.begin(chosen.port)
            print(broker.address())
        elif broker.end(signal.SIGTERM if chosen.command == "stop" else signal.SIGKILL):
            print("stopped" if chosen.command == "stop" else "killed")
        else:
            print(f"no broker runs with {broker.data}")
    return 0


def number(least: int, most: int, what: str):
    def parse(word: str) -> int:
        if not re.fullmatch(r"[0-9]{1,6}", word) or not least <= int(word) <= most:
            raise argparse.ArgumentTypeError(f"'{word}' is no {what}")
        return int(word)
    return parse


def topic_name(word: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", word) or word in (".", ".."):
        raise argparse.ArgumentTypeError(f"'{word}' is no name of a topic")
    return word


def setting(word: str) -> str:
    if not re.fullmatch(r"[a-z.]+=.*", word):
        raise argparse.ArgumentTypeError(f"'{word}' is no KEY=VALUE")
    return word


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/kafka", formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="scripts/kafka start [--port N] [--data DIR]\n       scripts/kafka status|stop|kill [--data DIR]\n"
              "       scripts/kafka topic NAME [PARTITIONS] [--config KEY=VALUE] [--data DIR]",
        description="One Kafka broker on 127.0.0.1, for tests, the lab and examples. Its jars come from Maven, once.",
        epilog="commands:\n  start   starts the broker, or finds it running; prints its address when it is ready\n"
               "  status  says whether it runs; the exit status is 1 where it does not\n"
               "  topic   makes a topic, or gives it more partitions\n"
               "  stop    ends the broker; the data stay, and the next start has the same port\n"
               "  kill    ends it as a crash does\n"
               f"The exit status is {MISSING} where Java or the jars are not to be had.\n"
               f"Jars and data stand in {cache_folder()}. scripts/setup --kafka installs what it needs.")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("name", nargs="?", type=topic_name, metavar="NAME", help="of the topic")
    parser.add_argument("partitions", nargs="?", type=number(1, 10000, "number of partitions"), metavar="PARTITIONS",
                        help="of a new topic: 4 unless given")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the broker's files; each folder is a broker of its own")
    parser.add_argument("--port", type=number(1, 65535, "port"), metavar="N", help="for start: else it is chosen")
    parser.add_argument("--config", action="append", default=[], type=setting, metavar="KEY=VALUE",
                        help="for a new topic, as cleanup.policy=compact")
    chosen = parser.parse_args()
    if chosen.command is None:
        parser.error(f"it takes a COMMAND ({', '.join(COMMANDS)})")
    if (chosen.command == "topic") != (chosen.name is not None):
        parser.error("topic takes a name" if chosen.command == "topic" else f"{chosen.command} takes no name, and has '{chosen.name}'")
    if chosen.port is not None and chosen.command != "start":
        parser.error("--port is for start")
    if chosen.config and chosen.command != "topic":
        parser.error("--config is for topic")
    try:
        return carry_out(chosen)
    except (BrokerError, OSError, struct.error) as error:
        print(f"scripts/kafka: {error}", file=sys.stderr)
        return MISSING if isinstance(error, MissingError) else 1
    except KeyboardInterrupt:
        print("scripts/kafka: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
