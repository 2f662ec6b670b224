#!/usr/bin/env python3
"""bloom_list against dnsmasq, unbound and BIND, from Debian's dnsmasq-base, unbound and bind9, on
ports of their own: what they block is an entry, and what they do not block is none. What is not
installed is skipped and says so. engines_test.py does the same for the rules of Adblock.
"""
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from foreign_test import WithExtension


class Resolvers(WithExtension):
    SINKS = (b"\0\0\0\0", b"\x7f\0\0\1")

    @staticmethod
    def answer(port, name):
        """What a resolver answers for a name: its code, and the first record's data or b''."""
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        question = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + b"\0\1\0\1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(2)
            client.sendto(question, ("127.0.0.1", port))
            reply = client.recv(4096)
        found = struct.unpack("!H", reply[6:8])[0]
        start = len(question) + 12  # of the data; two bytes of the record stand for its name
        return reply[3] & 15, reply[start:start + 4] if found else b""

    def wanted(self, port, names):
        """The names that are blocked: refused, not there, without an address, or in a sink."""
        for _ in range(100):
            try:
                self.answer(port, "start.test")
                break
            except OSError:
                time.sleep(0.1)
        blocked = []
        for name in names:
            code, address = self.answer(port, name)
            if code in (3, 5) or (code == 0 and (address == b"" or address in self.SINKS)):
                blocked.append(name)
        return blocked

    def check(self, package, program, arguments, files, lines):
        """Runs a program on the lines, in which @ stands for the name of a line, h1.test and so
        on. In its files and arguments FOLDER, PORT and LINES stand for what they say."""
        where = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
        if where is None:
            self.skipTest(f"skipped: {program} is not installed; Debian's {package} has it")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        names = [f"h{line}.test" for line in range(1, len(lines) + 1)]
        text = "\n".join(line.replace("@", name) for line, name in zip(lines, names)) + "\n"
        with tempfile.TemporaryDirectory() as folder:
            def filled(form):
                return (form.replace("FOLDER", folder).replace("PORT", str(port))
                        .replace("LINES", text))

            for name, form in files.items():
                pathlib.Path(folder, name).write_text(filled(form))
            with subprocess.Popen([where, *filled(arguments).split()], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as resolver:
                try:
                    blocked = self.wanted(port, names)
                finally:
                    resolver.terminate()
        keys = self.rows("SELECT key FROM bloom_list(?1) WHERE key IS NOT NULL", text)
        self.assertEqual([key for key, in keys], [f"{name}/" for name in blocked])
        self.assertTrue(0 < len(blocked) < len(names))

    def test_dnsmasq(self):
        self.check("dnsmasq-base", "dnsmasq", "--keep-in-foreground -C FOLDER/conf", {"conf": """
no-resolv
no-hosts
port=PORT
listen-address=127.0.0.1
bind-interfaces
pid-file=FOLDER/pid
address=/#/192.0.2.99
LINES"""}, ["address=/@/0.0.0.0", "address=/@/\t127.0.0.1", "address= /@/0.0.0.0 # why",
            "address=/@/", "address=/@/192.0.2.7", "server=/@/", "server = /@/ #", "local=/@/"])

    def test_unbound(self):
        self.check("unbound", "unbound", "-d -c FOLDER/conf", {"conf": """server:
 interface: 127.0.0.1
 port: PORT
 chroot: ""
 username: ""
 directory: "FOLDER"
 pidfile: ""
 use-syslog: no
 do-daemonize: no
 do-not-query-localhost: no
 local-zone: test. transparent
LINESforward-zone:
 name: "."
 forward-addr: 127.0.0.1@1
"""}, ['local-zone: "@" always_nxdomain', "local-zone: @ refuse", "local-zone: '@' 'refuse'",
       'local-zone: "@." static', "local-zone: '@' transparent",
       "local-zone: '@' 'always_transparent'", 'local-data: "@. A 0.0.0.0"',
       "local-data: '@. 60 IN A 127.0.0.1'", "local-data: '@. A 192.0.2.7'"])

    def test_bind(self):
        start = "$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n"
        self.check("bind9", "named", "-f -c FOLDER/conf", {
            "test.zone": start + "* A 192.0.2.99\n", "policy.zone": start + "LINES", "conf": """
options { directory "FOLDER"; listen-on port PORT { 127.0.0.1; }; listen-on-v6 { none; };
 pid-file none; session-keyfile none; dnssec-validation no; empty-zones-enable no;
 response-policy { zone "policy"; } qname-wait-recurse no; };
controls { };
zone "policy" { type primary; file "policy.zone"; };
zone "test" { type primary; file "test.zone"; };
"""}, ["@ CNAME .", "@ CNAME .;why", "@ 60 IN CNAME . ; why", "@ CNAME *.;why", "@ A 0.0.0.0;why",
            "@ CNAME rpz-passthru.;why", "@ A 192.0.2.7;why"])


if __name__ == "__main__":
    unittest.main()
