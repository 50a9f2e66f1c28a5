#!/usr/bin/python3
"""Drives the servers of the examples by clients that are not of this project: curl, nc, and openssl s_client through
the proxy. A reset, which none of these makes, is made here.

Each server listens on a port that the system chooses, and is ended by SIGTERM. Exits with 77, which ctest takes for
skipped, where a client is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 100  # seconds; more than any of it takes
SKIPPED = 77


class Server:
    """A server that runs: its port, and how it ended."""

    def __init__(self, *command: str | Path):
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stderr.readline()
        found = re.fullmatch(r"port (\d+)\n", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"no port, but {line!r}")
        self.port = int(found[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def terminated(self, begin_of_output: str, limit: float = PATIENCE) -> float:
        """Sends SIGTERM; the server must print that, and end. How long it took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        printed, _ = self.process.communicate(timeout=limit)
        same(self.process.returncode in (0, 128 + signal.SIGTERM), True)
        same(printed[: len(begin_of_output)], begin_of_output)
        return time.monotonic() - begin


def same(got: object, wanted: object) -> None:
    if got != wanted:
        raise AssertionError(f"{got!r} in place of {wanted!r}")


def curl(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["curl", "--silent", "--noproxy", "*", "--max-time", str(PATIENCE), *arguments], capture_output=True, check=False, **options
    )


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


@contextlib.contextmanager
def served_by_openssl(folder: str, *options: str) -> Iterator[int]:
    """An `openssl s_server` that begins in `folder`: its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-quiet", *options],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield port
    finally:
        server.kill()
        server.communicate()


def serves_files(programs: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made) / "root"
        root.mkdir()
        (Path(made) / "secret").write_text("not to be seen\n")
        (root / "small").write_text("a page\n")
        large = bytes(range(256)) * 40_000
        (root / "large").write_bytes(large)
        (root / "link").symlink_to(Path(made) / "secret")
        (root / "folder").mkdir()
        with Server(programs / "coflux_example_37_file_server", root) as server:
            at = f"http://127.0.0.1:{server.port}"
            same(curl("--fail", f"{at}/small").stdout, b"a page\n")
            same(curl("--fail", f"{at}/large").stdout == large, True)
            for path in ("none", "../secret", "folder/../../secret", "%2e%2e/secret", "link", "folder", ""):
                got = curl("--path-as-is", "--write-out", "%{http_code}", f"{at}/{path}")
                same((path, got.stdout), (path, b"404"))
            same(curl("--path-as-is", "--write-out", "%{http_code}", "--request", "PUT", f"{at}/small").stdout, b"400")
            # Forty at a time, two hundred in all.
            many = [f"{at}/small"] * 200
            got = curl("--fail", "--parallel", "--parallel-max", "40", *many)
            same((got.returncode, got.stdout), (0, b"a page\n" * 200))
            server.terminated("served 210")


def lets_a_download_end(programs: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        large = bytes(40_000_000)
        (Path(made) / "large").write_bytes(large)
        with Server(programs / "coflux_example_37_file_server", made) as server:
            slow = subprocess.Popen(
                ["curl", "--silent", "--fail", "--noproxy", "*", "--max-time", str(PATIENCE), "--limit-rate", "30M", f"http://127.0.0.1:{server.port}/large"],
                stdout=subprocess.PIPE,
            )
            first = slow.stdout.read(100_000)
            server.process.send_signal(signal.SIGTERM)
            # It soon accepts none, and the download, of which no more is read meanwhile, goes on.
            deadline = time.monotonic() + PATIENCE
            while not refuses(server.port) and time.monotonic() < deadline:
                time.sleep(0.01)
            same(refuses(server.port), True)
            rest = slow.stdout.read()  # by the same buffer
            slow.communicate(timeout=PATIENCE)
            same((slow.returncode, first + rest == large), (0, True))
            server.process.communicate(timeout=PATIENCE)
            same(server.process.returncode, 0)


def chats(programs: Path) -> None:
    with Server(programs / "coflux_example_35_chat", "serve") as server:
        command = ["nc", "-w", str(PATIENCE), "127.0.0.1", str(server.port)]
        peers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
        for peer in peers:
            same(peer.stdout.readline(), b"welcome\n")
        for number, peer in enumerate(peers):
            peer.stdin.write(b"hello from %d\n" % number)
            peer.stdin.flush()
            for each in peers:
                same(each.stdout.readline(), b"hello from %d\n" % number)
        # All are idle: none holds the server up, and all hear of the end.
        took = server.terminated("served 3")
        same(took < 3, True)
        for peer in peers:
            peer.stdin.close()  # nc would wait for what comes there
            same(peer.stdout.read(), b"")
            peer.wait(timeout=PATIENCE)


def echoes(programs: Path) -> None:
    with Server(programs / "coflux_example_34_echo", "serve") as server:
        command = ["nc", "-w", str(PATIENCE), "127.0.0.1", str(server.port)]
        peers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(20)]
        for size in (1, 1024, 60_000):
            for number, peer in enumerate(peers):
                peer.stdin.write(bytes([number]) * size)
                peer.stdin.flush()
            for number, peer in enumerate(peers):
                same(peer.stdout.read(size) == bytes([number]) * size, True)
        peers[0].kill()  # in the middle of its connection
        peers[0].communicate()
        server.terminated("")
        for peer in peers[1:]:
            peer.stdin.close()  # nc would wait for what comes there
            same(peer.stdout.read(), b"")
            peer.wait(timeout=PATIENCE)


def gets_a_page_by_tls(programs: Path) -> None:
    """It gets the page of openssl's server, and no page where the certificate is another's, or unknown."""
    client = programs / "coflux_example_41_https_get"
    with tempfile.TemporaryDirectory() as made:
        key, certificate = Path(made) / "key", Path(made) / "certificate"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True)  # fmt: skip
        (Path(made) / "page").write_text("by TLS\n" * 5_000)
        with served_by_openssl(made, "-key", str(key), "-cert", str(certificate), "-WWW") as port:
            def get(*arguments: str) -> subprocess.CompletedProcess[bytes]:
                return subprocess.run([client, *arguments], capture_output=True, check=False, timeout=PATIENCE)

            for _ in range(5):
                got = get("localhost", str(port), "/page", str(certificate))
                same((got.returncode, got.stdout.endswith(b"\r\n\r\n" + b"by TLS\n" * 5_000)), (0, True))
            for arguments in (("127.0.0.1", str(port), "/page", str(certificate)), ("localhost", str(port), "/page")):
                got = get(*arguments)
                same((got.returncode == 0, got.stdout, b"certificate" in got.stderr), (False, b"", True))


def passes_on(programs: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "page").write_text("behind the proxy\n")
        with Server(programs / "coflux_example_37_file_server", made) as behind:
            with Server(programs / "coflux_example_39_proxy", str(behind.port)) as proxy:
                for _ in range(20):
                    same(curl("--fail", f"http://127.0.0.1:{proxy.port}/page").stdout, b"behind the proxy\n")
                proxy.terminated("passed on 20")
            behind.terminated("served 20")


def passes_a_reset_on(programs: Path) -> None:
    """The server behind hears of it, and the proxy keeps no descriptor."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as behind:
        behind.settimeout(PATIENCE)
        with Server(programs / "coflux_example_39_proxy", str(behind.getsockname()[1])) as proxy:
            descriptors = Path(f"/proc/{proxy.process.pid}/fd")
            before = len(list(descriptors.iterdir()))
            for _ in range(20):
                client = socket.create_connection(("127.0.0.1", proxy.port))
                client.sendall(b"question")
                server, _ = behind.accept()
                with contextlib.closing(server):
                    server.settimeout(PATIENCE)
                    same(server.recv(8, socket.MSG_WAITALL), b"question")
                    # With a linger of no time a close is a reset.
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.close()
                    same(server.recv(1), b"")
            # Those of an event source may have come; a proxy that keeps its connections has 40 more.
            deadline = time.monotonic() + PATIENCE
            while len(list(descriptors.iterdir())) > before + 5 and time.monotonic() < deadline:
                time.sleep(0.01)
            same(len(list(descriptors.iterdir())) <= before + 5, True)
            proxy.terminated("passed on ")


def passes_tls_on(programs: Path) -> None:
    """Binary, both ways, many messages: a handshake and an echo of openssl's server through the proxy."""
    with tempfile.TemporaryDirectory() as made:
        key, certificate = Path(made) / "key", Path(made) / "certificate"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True)  # fmt: skip
        with served_by_openssl(made, "-key", str(key), "-cert", str(certificate), "-rev") as port:
            with Server(programs / "coflux_example_39_proxy", str(port)) as proxy:
                client = subprocess.Popen(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{proxy.port}", "-CAfile", str(certificate), "-quiet",
                     "-verify_return_error"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
                watchdog = threading.Timer(PATIENCE, client.kill)
                watchdog.start()
                for number in range(50):
                    client.stdin.write(b"%08d\n" % number)
                    client.stdin.flush()
                    same(client.stdout.readline(), (b"%08d" % number)[::-1] + b"\n")
                watchdog.cancel()
                client.kill()
                client.communicate()
                proxy.terminated("passed on ")


def speaks_http(programs: Path) -> None:
    server_program, client = programs / "coflux_example_53_http_server", programs / "coflux_example_54_http_client"
    with Server(server_program, "serve") as server:
        at = f"http://127.0.0.1:{server.port}"
        same(curl("--fail", "--data", "a body", f"{at}/").stdout, b"a body")
        chunks = ("--header", "Transfer-Encoding: chunked", "--header", "Expect:", "--data-binary", "@-")
        same(curl("--fail", *chunks, f"{at}/", input=bytes(60_000)).stdout == bytes(60_000), True)
        # What is too large is refused by an answer, and not by a reset, also where it is on its way already.
        told = ("--write-out", "%{http_code}")
        same(curl(*told, *chunks, f"{at}/", input=bytes(200_000)).stdout, b"body limit exceeded\n400")
        same(curl(*told, f"{at}/{'a' * 9000}").stdout, b"header limit exceeded\n400")
        same(curl(*told, "--head", f"{at}/").stdout[:12], b"HTTP/1.1 501")
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as peer:
            peer.sendall(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;" + b"a" * 100_000)
            peer.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: peer.recv(1000), b""))
            same((answer[:12], answer[-22:]), (b"HTTP/1.1 400", b"header limit exceeded\n"))
        same(curl("--http1.0", *told, f"{at}/").stdout, b"hello\n200")
        # By one connection.
        got = curl("--fail", "--write-out", "%{num_connects}\n", f"{at}/", f"{at}/")
        same(got.stdout, b"hello\n1\nhello\n0\n")
        got = subprocess.run([client, "127.0.0.1", str(server.port), "/", "/"], capture_output=True, check=True)
        same(got.stdout, b"/: 200 hello\n\n/: 200 hello\n\n")
        # A stop ends those that are idle, and waits for the one that is in a request.
        peers = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(20)]
        for peer in peers:
            peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
            same(peer.recv(1000)[-6:], b"hello\n")
        peers[0].sendall(b"GET / HT")
        server.process.send_signal(signal.SIGTERM)
        for peer in peers[1:]:
            same(peer.recv(1000), b"")
        peers[0].sendall(b"TP/1.1\r\n\r\n")
        same(peers[0].recv(1000), b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nhello\n")
        for peer in peers:
            peer.close()
        same(server.process.communicate(timeout=PATIENCE)[0], "served 29\n")


TESTS = {
    "http": ("curl", speaks_http),
    "chat": ("nc", chats),
    "files": ("curl", serves_files),
    "download": ("curl", lets_a_download_end),
    "proxy": ("curl", passes_on),
    "reset": ("python3", passes_a_reset_on),
    "tls": ("openssl", passes_tls_on),
    "echo": ("nc", echoes),
    "https": ("openssl", gets_a_page_by_tls),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of the examples' programs")
    parser.add_argument("test", choices=TESTS)
    options = parser.parse_args(arguments)
    client, test = TESTS[options.test]
    if shutil.which(client) is None:
        print(f"skipped: {client} is missing (scripts/setup installs it)")
        return SKIPPED
    test(options.programs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
