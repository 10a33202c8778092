"""A dripfeed to look at, in a folder that is gone afterwards: Redis, intake, processor and upstream; and a browser."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

PATIENCE_S = 60
CHROMIUM = "/usr/bin/chromium"
REDIS = ("redis-server", "valkey-server")
SCRIPT = "<script>window.pwned = true</script>"

# Each shows another state; `{echo}` is the upstream.
BUCKETS = """
[buckets.demo]
upstream = "{echo}?delay=1s"
capacity = 100
leak = { rate = "5/s" }
[buckets.broken]
upstream = "{echo}?status=404"
capacity = 50
[buckets.empty]
upstream = "{echo}"
leak = { rate = "200/500ms", burst = 200 }
[buckets.orders]
upstream = "{echo}?delay=3s"
capacity = 20
leak = { rate = "1/s" }
[buckets.throttled]
upstream = "{echo}?status=429&retry_after=2000"
capacity = 50
leak = { rate = "10/s" }
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Stage:
    """`more` is TOML: keys, further buckets. `extra` are arguments before `dev`."""

    def __init__(self, more="", buckets=BUCKETS, processors=1, extra=()):
        self.folder = tempfile.TemporaryDirectory(prefix="dripfeed-page-")
        self.port, self.echo_port = free_port(), free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.buckets, self.more, self.processors, self.extra = buckets, more, processors, extra
        self.key = None

    def __enter__(self):
        folder = Path(self.folder.name)
        self.configuration = folder / "dripfeed.toml"
        echo = f"http://127.0.0.1:{self.echo_port}/echo"
        self.configuration.write_text(self.more + self.buckets.replace("{echo}", echo))
        self.log = open(folder / "log", "wb+")
        arguments = [*self.extra, "-c", self.configuration, "dev", "--port", self.port, "--echo-port", self.echo_port]
        arguments += ["--data", folder / "data", "--processors", self.processors]
        command = [os.environ["DRIPFEED"], *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log, cwd=folder)
        try:
            self.until(self.is_ready, "it isn't ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE_S)
        self.log.close()
        self.folder.cleanup()

    def kill(self):
        """As a crash. Its processors end with it, by their standard input; its Redis would stay: it is ended here."""
        redis = [os.pidfd_open(number) for name, number in self.children() if name in REDIS]
        self.process.kill()
        self.process.wait(PATIENCE_S)
        for process in redis:
            signal.pidfd_send_signal(process, signal.SIGTERM)
            ended, _, _ = select.select([process], [], [], PATIENCE_S)
            assert ended, "its Redis doesn't end"
            os.close(process)

    def children(self):
        """Names and ids."""
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                number, name, rest = re.fullmatch(r"(\d+) \((.*)\) (.*)\s*", status.read_text(), re.DOTALL).groups()
            except OSError:
                continue  # it has ended meanwhile
            if int(rest.split()[1]) == self.process.pid:
                yield name, int(number)

    def until(self, happened, what):
        begun = time.monotonic()
        while not happened():
            if self.process.poll() is not None or time.monotonic() - begun > PATIENCE_S:
                self.log.seek(0)
                raise AssertionError(f"{what}\n{self.log.read().decode(errors='replace')[-4000:]}")
            time.sleep(0.02)

    def is_ready(self):
        try:
            return self.call("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def call(self, method, path, body=None, headers=()):
        """The status and the body of an answer."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, dict(headers), method=method)
        if self.key:
            request.add_header("Dripfeed-Key", self.key)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def submit(self, bucket, count=1, body=None, **options):
        items = [{"body": body or {"n": n}, "options": options} for n in range(count)]
        status, answer = self.call("POST", f"/v1/buckets/{bucket}/jobs/batch", items)
        assert status in (202, 207, 429), answer
        return [item["id"] for item in json.loads(answer)["items"] if "id" in item]

    def state(self, bucket):
        return json.loads(self.call("GET", f"/v1/buckets/{bucket}")[1])

    def until_state(self, bucket, holds):
        self.until(lambda: holds(self.state(bucket)), f"{bucket}: {self.state(bucket)}")

    def redis(self, *words):
        """A command to its Redis."""
        socket = Path(self.folder.name) / "data" / "redis.sock"
        subprocess.run(["redis-cli", "-s", socket, *words], stdout=subprocess.DEVNULL, check=True)

    @contextmanager
    def without_redis(self):
        """It hangs."""
        (redis,) = [number for name, number in self.children() if name in REDIS]
        os.kill(redis, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(redis, signal.SIGCONT)

    def processors_now(self):
        """The ids of running processors."""
        self.log.seek(0)
        return [int(number) for number in re.findall(rb"processor \d+ is process (\d+)", self.log.read())]

    @contextmanager
    def another_processor(self):
        """As its own are started."""
        one = Path(f"/proc/{self.processors_now()[-1]}")
        words = lambda name: (one / name).read_bytes().rstrip(b"\0").split(b"\0")
        environment = dict(word.split(b"=", 1) for word in words("environ") if b"=" in word)
        # It ends with its standard input.
        process = subprocess.Popen(
            words("cmdline"), env=environment, cwd=(one / "cwd").readlink(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.log,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(PATIENCE_S)


@contextmanager
def browser():
    with sync_playwright() as playwright:
        # Debian's; root needs no sandbox, as in containers.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        launched.close()


def fill(stage):
    """Something to see in every bucket."""
    stage.submit("demo", 90)
    stage.submit("demo", 40, delay="10m")
    stage.submit("broken", 4, {"order": 17, "note": SCRIPT})
    stage.submit("throttled", 12)
    stage.submit("orders", 25)
    stage.until_state("broken", lambda state: state["dead"] == 4)
    stage.until_state("throttled", lambda state: state["pace"]["reason"] == "held")
