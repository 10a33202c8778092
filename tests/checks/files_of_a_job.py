"""Counts our files that one job runs through: from the POST to its 202, and from there to its settlement.

    python3 tests/checks/files_of_a_job.py [EXECUTABLE] [--names]

Takes an executable with debug information and without optimisation, which inlines nothing (`make dev` builds it), and
valgrind, whose callgrind writes down which functions ran. What runs in the background meanwhile (heartbeats, looks at
Redis) counts as well. Lua files are those whose first lines stand in a script that was called.
"""

import argparse
import hashlib
import http.server
import json
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300
CONFIGURATION = """
[redis]
url = "unix://{redis}"
[intake]
listen = "127.0.0.1:0"
[processor]
listen = "127.0.0.1:0"
[buckets.b]
upstream = "http://127.0.0.1:{upstream}/"
"""


class Echo(http.server.BaseHTTPRequestHandler):
    """The upstream."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def until(what: str, happened):
    """What `happened` returns, once that is true."""
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE_S:
        if value := happened():
            return value
        time.sleep(0.05)
    raise SystemExit(f"{what}: it didn't happen within {PATIENCE_S} s")


def answer(url: str, body: bytes | None = None) -> bytes | None:
    """None: nobody answers, or not well."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=PATIENCE_S) as reply:
            return reply.read()
    except (urllib.error.URLError, ConnectionError):
        return None


class Role:
    """A process, under callgrind when it is the one that is looked at."""

    def __init__(self, executable: str, folder: Path, role: str, watched: bool) -> None:
        self.out, log = folder / f"{role}.callgrind", folder / f"{role}.log"
        watch = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.out}", "--compress-strings=no"]
        command = [*(watch if watched else []), executable, "-c", str(folder / "dripfeed.toml"), role]
        self.process = subprocess.Popen(command, stdout=log.open("w"), stderr=subprocess.STDOUT)
        listens = re.compile(r"127\.0\.0\.1:([1-9]\d*)")
        port = until(f"{role} listens", lambda: listens.search(log.read_text()))[1]
        self.url = f"http://127.0.0.1:{port}"
        until(f"{role} is ready", lambda: answer(f"{self.url}/readyz") is not None)

    def control(self, flag: str) -> None:
        subprocess.run(["callgrind_control", flag, str(self.process.pid)], check=True, capture_output=True)

    def files(self) -> set[str]:
        """Ours that ran since the counters were last zero."""
        self.control("--dump")
        dumps = sorted(self.out.parent.glob(f"{self.out.name}.*"), key=lambda file: file.stat().st_mtime)
        lines = (line for file in dumps for line in file.read_text(errors="replace").splitlines())
        names = {line.split("=", 1)[1] for line in lines if re.match(r"(fl|fi|fe)=", line)}
        ours = (re.search(r"(?:^|/)(crates/[^/]+/src/.*\.rs)$", name) for name in names)
        return {found[1] for found in ours if found and (ROOT / found[1]).exists()}

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class Scripts:
    """The Lua files in scripts that Redis is asked to run."""

    def __init__(self, path: str) -> None:
        lua = ROOT.glob("crates/*/src/**/*.lua")
        self.firsts = {file.read_text().splitlines()[0]: str(file.relative_to(ROOT)) for file in lua}
        self.sources: dict[str, set[str]] = {}
        self.called: set[str] = set()
        # By the intake, in the part that was looked at before.
        self.others: set[str] = set()
        self.monitor = socket.socket(socket.AF_UNIX)
        self.monitor.connect(path)
        self.monitor.sendall(b"MONITOR\r\n")
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.monitor.makefile("r", errors="replace"):
            if found := re.search(r'"EVAL" "((?:[^"\\]|\\.)*)"', line):
                source = found[1].encode().decode("unicode_escape").encode("latin-1")
                text = source.decode()
                files = {name for first, name in self.firsts.items() if first in text}
                self.sources[hashlib.sha1(source).hexdigest()] = files
            if found := re.search(r'"EVALSHA" "([0-9a-f]{40})"', line):
                self.called.add(found[1])

    def files(self) -> set[str]:
        called, self.others = self.called - self.others, set(self.called)
        return set().union(*(self.sources.get(script, set()) for script in called))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("executable", nargs="?", default=str(ROOT / "target/debug/dripfeed"))
    arguments.add_argument("--names", action="store_true", help="print the names of the files")
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        path = str(folder / "redis.sock")
        redis = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--dir", str(folder), "--appendonly", "yes"],
            stdout=subprocess.DEVNULL,
        )
        try:
            until("Redis listens", Path(path).exists)
            text = CONFIGURATION.format(redis=path, upstream=upstream.server_address[1])
            (folder / "dripfeed.toml").write_text(text)
            scripts = Scripts(path)
            for name, watched in [("POST to 202", "intake"), ("202 to settlement", "processor")]:
                rust, lua = count(arguments.executable, folder, scripts, watched)
                print(f"{name}: {len(rust)} Rust files, {len(lua)} Lua files")
                for file in sorted(rust | lua) if arguments.names else []:
                    print(f"    {file}")
        finally:
            redis.terminate()
            redis.wait()


def count(executable: str, folder: Path, scripts: Scripts, watched: str) -> tuple[set[str], set[str]]:
    """Of one job, in the process that is watched. One job went before it, so that nothing runs for the first time."""
    # Up to the 202 nobody else calls scripts.
    needed = ["intake"] if watched == "intake" else ["intake", "processor"]
    roles = [Role(executable, folder, role, role == watched) for role in needed]
    intake, looked_at = roles[0], roles[-1]

    def job() -> None:
        job = json.loads(until("a 202", lambda: answer(f"{intake.url}/v1/buckets/b/jobs", b"{}")))
        url = f"{intake.url}/v1/buckets/b/jobs/{job['id']}"
        if watched == "processor":
            until("it is delivered", lambda: json.loads(answer(url) or "{}").get("state") == "delivered")

    try:
        job()
        looked_at.control("--zero")
        scripts.called.clear()
        job()
        return looked_at.files(), scripts.files()
    finally:
        for role in roles:
            role.end()


if __name__ == "__main__":
    main()
