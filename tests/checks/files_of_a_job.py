"""Counts our files that one job runs through: from the POST to its 202, and from there to its settlement.

    python3 tests/checks/files_of_a_job.py [EXECUTABLE] [--names] [--root SOURCES]

Takes an executable with line tables and without optimisation, which inlines nothing (`make files-of-a-job` builds it),
and valgrind, whose callgrind writes down which lines ran. Of several jobs those files count that each of them ran: so
what runs in the background from time to time doesn't, and what runs there all the time (heartbeats) does. Lua files are
those whose first lines stand in a script that was called, outside of functions that only few calls open (`-- opens:`).
Exits with 1 where files are more than MOST. SOURCES is where the executable was built, for one of another commit:
`make upgrade` leaves those of 0.1.0, and its executable, in target/upgrade.
"""

import argparse
import hashlib
import http.server
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300
JOBS = 40
# Files of Rust and of Lua in these sources. On a busy machine a job takes so long that what a process does every 400 ms
# runs with each of them: up to 8 files of Rust more than on an idle one.
MOST = {"intake": (55, 11), "processor": (55, 20)}
# In a dump of callgrind.
POSITION = re.compile(r"(fl|fi|fe)=(.*)")
COST = re.compile(r"[1-9]\d* \d")
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
        watch.append("--compress-pos=no")
        command = [*(watch if watched else []), executable, "-c", str(folder / "dripfeed.toml"), role]
        self.process = subprocess.Popen(command, stdout=log.open("w"), stderr=subprocess.STDOUT)
        listens = re.compile(r"127\.0\.0\.1:([1-9]\d*)")
        port = until(f"{role} listens", lambda: listens.search(log.read_text()))[1]
        self.url = f"http://127.0.0.1:{port}"
        until(f"{role} is ready", lambda: answer(f"{self.url}/readyz") is not None)

    def control(self, command: str) -> None:
        # Faster than callgrind_control, so that less runs in the background meanwhile.
        subprocess.run(["vgdb", f"--pid={self.process.pid}", command], check=True, capture_output=True)

    def files(self, root: Path) -> set[str]:
        """Ours that ran since the counters were last zero."""
        self.control("dump")
        dump = max(self.out.parent.glob(f"{self.out.name}.*"), key=lambda file: file.stat().st_mtime)
        names, name = set(), ""
        for line in dump.read_text(errors="replace").splitlines():
            if found := POSITION.match(line):
                name = found[2]
            # What the compiler wrote has the line 0 of some file.
            elif COST.match(line):
                names.add(name)
        ours = (re.search(r"(?:^|/)(crates/[^/]+/src/.*\.rs)$", name) for name in names)
        return {found[1] for found in ours if found and (root / found[1]).exists()}

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class Scripts:
    """The Lua files in scripts that Redis is asked to run."""

    def __init__(self, path: str, root: Path) -> None:
        lua = root.glob("crates/*/src/**/*.lua")
        self.texts = {str(file.relative_to(root)): file.read_text() for file in lua}
        self.sources: dict[str, set[str]] = {}
        self.called: set[str] = set()
        self.monitor = socket.socket(socket.AF_UNIX)
        self.monitor.connect(path)
        self.monitor.sendall(b"MONITOR\r\n")
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.monitor.makefile("r", errors="replace"):
            if found := re.search(r'"EVAL" "((?:[^"\\]|\\.)*)"', line):
                source = found[1].encode().decode("unicode_escape").encode("latin-1")
                self.sources[hashlib.sha1(source).hexdigest()] = self.run_by(source.decode())
            if found := re.search(r'"EVALSHA" "([0-9a-f]{40})"', line):
                self.called.add(found[1])

    def run_by(self, script: str) -> set[str]:
        """Its files, but for those in a function that few calls open: it stands before the file that opens it."""
        begins = {name: script.find(text.splitlines()[0]) for name, text in self.texts.items()}
        begins = {name: begin for name, begin in begins.items() if begin >= 0}
        opened = []
        for name in begins:
            if function := re.search(r"^-- opens: (\w+) = ", self.texts[name], re.M):
                opened.append((script.find(f"local function\n{function[1]}\n()"), begins[name]))
        return {name for name, at in begins.items() if not any(first < at < end for first, end in opened)}

    def files(self, others: set[str]) -> set[str]:
        """Of those that were called, and that aren't among `others`."""
        return set().union(*(self.sources.get(script, set()) for script in self.called - others))


class Redis:
    """A private server."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "redis.sock")
        listen = ["--port", "0", "--unixsocket", self.path]
        command = ["redis-server", *listen, "--dir", str(folder), "--appendonly", "yes"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until("Redis listens", Path(self.path).exists)

    def level(self) -> int:
        command = ["redis-cli", "-s", self.path, "XLEN", "dripfeed:{b}:jobs"]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("executable", nargs="?", default=str(ROOT / "target/debug/dripfeed"))
    arguments.add_argument("--names", action="store_true", help="print the names of the files")
    arguments.add_argument("--root", type=Path, default=ROOT, help="where the executable was built")
    arguments = arguments.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        redis = Redis(folder)
        try:
            text = CONFIGURATION.format(redis=redis.path, upstream=upstream.server_address[1])
            (folder / "dripfeed.toml").write_text(text)
            measure = Measure(arguments.executable, arguments.root, folder, redis)
            for name, watched in [("POST to 202", "intake"), ("202 to settlement", "processor")]:
                rust, lua = measure.count(watched)
                print(f"{name}: {len(rust)} Rust files, {len(lua)} Lua files")
                for file in sorted(rust | lua) if arguments.names else []:
                    print(f"    {file}")
                for kind, files, most in zip(("Rust", "Lua"), (rust, lua), MOST[watched]):
                    if arguments.root == ROOT and len(files) > most:
                        print(f"{name}: {len(files)} {kind} files, at most {most}: merge some, or say why in MOST")
                        wrong = 1
        finally:
            redis.end()
    return wrong


class Measure:
    def __init__(self, executable: str, root: Path, folder: Path, redis: Redis) -> None:
        self.executable, self.root, self.folder, self.redis = executable, root, folder, redis
        self.scripts = Scripts(redis.path, root)
        self.by_intake: set[str] = set()

    def count(self, watched: str) -> tuple[set[str], set[str]]:
        """Of each job, in the process that is watched. One goes before, so that nothing runs for the first time."""
        # Up to the 202 nobody else calls scripts.
        needed = ["intake"] if watched == "intake" else ["intake", "processor"]
        roles = [Role(self.executable, self.folder, role, role == watched) for role in needed]
        intake, looked_at = roles[0], roles[-1]
        try:
            self.job(intake, watched)
            runs = [self.run(intake, looked_at, watched) for _ in range(JOBS)]
        finally:
            for role in roles:
                role.end()
        return set.intersection(*(rust for rust, _ in runs)), set.intersection(*(lua for _, lua in runs))

    def run(self, intake: Role, looked_at: Role, watched: str) -> tuple[set[str], set[str]]:
        looked_at.control("zero")
        self.scripts.called.clear()
        self.job(intake, watched)
        files = looked_at.files(self.root), self.scripts.files(self.by_intake if watched == "processor" else set())
        if watched == "intake":
            self.by_intake |= self.scripts.called
        return files

    def job(self, intake: Role, watched: str) -> None:
        until("a 202", lambda: answer(f"{intake.url}/v1/buckets/b/jobs", b"{}"))
        if watched == "processor":
            until("it is settled", lambda: self.redis.level() == 0)


if __name__ == "__main__":
    sys.exit(main())
