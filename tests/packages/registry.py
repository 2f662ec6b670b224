"""A registry of npm on a loopback port that holds the packages of one folder, so that `npm install`
works as for its users.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import tarfile
import threading
import urllib.parse


def manifests(folder):
    found = {}
    for path in folder.glob("*.tgz"):
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        found[manifest["name"]] = (manifest, path)
    return found


@contextlib.contextmanager
def registry(folder):
    """The address of the registry, while it runs."""
    packages = manifests(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = urllib.parse.unquote(self.path).strip("/")
            if name.endswith(".tgz"):
                self.answer(200, (folder / name).read_bytes(), "application/octet-stream")
            elif name in packages:
                manifest, path = packages[name]
                digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
                address = f"http://127.0.0.1:{self.server.server_port}/{path.name}"
                version = {
                    **manifest,
                    "dist": {"tarball": address, "integrity": f"sha512-{digest}"},
                }
                document = {
                    "name": name,
                    "dist-tags": {"latest": manifest["version"]},
                    "versions": {manifest["version"]: version},
                }
                self.answer(200, json.dumps(document).encode(), "application/json")
            else:
                self.answer(404, b"{}", "application/json")

        def answer(self, status, body, kind):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
