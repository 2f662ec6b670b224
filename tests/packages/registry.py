"""A registry of npm on a loopback port that holds the packages of one folder, so that `npm install`
works as for its users.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import tarfile
import tempfile
import threading
import urllib.parse

from common import run


def manifests(folder):
    found = {}
    for path in folder.glob("*.tgz"):
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        found[manifest["name"]] = (manifest, path)
    return found


@contextlib.contextmanager
def registry(folder):
    """The environment in which npm, bun and deno ask the registry, while it runs; with an empty
    cache.
    """
    packages = manifests(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = urllib.parse.unquote(self.path).strip("/")
            status, body = 404, b"{}"
            if name.endswith(".tgz"):
                status, body = 200, (folder / name).read_bytes()
            elif name in packages:
                manifest, path = packages[name]
                digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
                address = f"http://127.0.0.1:{self.server.server_port}/{path.name}"
                dist = {"tarball": address, "integrity": f"sha512-{digest}"}
                status, body = 200, json.dumps({
                    "name": name,
                    "dist-tags": {"latest": manifest["version"]},
                    "versions": {manifest["version"]: {**manifest, "dist": dist}},
                }).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    with tempfile.TemporaryDirectory() as cache, http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        yield {"NPM_CONFIG_REGISTRY": address, "npm_config_registry": address,
               "npm_config_cache": cache, "BUN_INSTALL_CACHE_DIR": cache, "DENO_DIR": cache}
        server.shutdown()


def install(folder, packages, *command):
    """Our package into a folder, by a client of npm's registry."""
    (folder / "package.json").write_text("{}")
    quiet = ["--silent", "--no-audit", "--no-fund"] if command[0] == "npm" else []
    with registry(packages) as environment:
        run(*command, *quiet, "npm:sqlite-bloom" if "deno" in command[0] else "sqlite-bloom",
            cwd=folder, env=environment)
