#!/usr/bin/env python3
"""usage: metrics.py DRIPFEED

The metrics of an intake and a processor that work, in both forms: `promtool check metrics` accepts the text, PyPI's
prometheus_client parses the text and OpenMetrics, both have the same samples, and the exemplars of OpenMetrics name the
trace that the submissions name. The executable has traces.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

PATIENCE = 60
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SETTINGS = """
[redis]
url = "unix://{folder}/redis.sock"
[intake]
listen = "127.0.0.1:0"
[trace]
endpoint = "http://127.0.0.1:1"
[processor]
listen = "127.0.0.1:0"
histograms_by_bucket = true
[buckets.a-bucket]
upstream = "{upstream}"
allow_private = true
retry.attempts = 1
[[buckets.a-bucket.limits]]
id = "all"
tiers = [{{ kind = "fixed", limit = 3, period = "1d" }}]
"""


class Upstream(BaseHTTPRequestHandler):
    """Takes every job."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


def start(processes: list, *command: str, **more) -> subprocess.Popen:
    processes.append(subprocess.Popen(command, text=True, **more))
    return processes[-1]


def role(processes: list, dripfeed: str, settings: Path, name: str) -> str:
    """Starts one; its address."""
    process = start(processes, dripfeed, "-c", str(settings), name, stderr=subprocess.PIPE)
    for line in process.stderr:
        message = json.loads(line)["message"]
        if message.startswith("listening on "):
            return message.removeprefix("listening on ")
    raise SystemExit(f"{name} doesn't listen")


def get(url: str, accept: str) -> tuple[str, str]:
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"].split(";")[0], answer.read().decode()


def submit(intake: str) -> int:
    headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    request = urllib.request.Request(f"{intake}/v1/buckets/a-bucket/jobs", b"x", headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def samples(families) -> dict:
    return {(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples}


def exemplars(families) -> dict:
    """The labels of each histogram's exemplars, by its name."""
    with_one = [sample for family in families for sample in family.samples if sample.exemplar]
    return {sample.name: sample.exemplar.labels for sample in with_one}


def check(name: str, url: str, traced: list[str]) -> None:
    kind, text = get(f"{url}/metrics", "text/plain")
    assert kind == "text/plain", kind
    linted = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    assert linted.returncode == 0, f"{name}: promtool check metrics: {linted.stdout}{linted.stderr}"
    kind, openmetrics = get(f"{url}/metrics", "application/openmetrics-text; version=1.0.0")
    assert kind == "application/openmetrics-text", kind
    in_text, in_openmetrics = samples(text_families(text)), samples(openmetrics_families(openmetrics))
    assert in_text == in_openmetrics, f"{name}: {in_text ^ in_openmetrics}"
    found = exemplars(openmetrics_families(openmetrics))
    assert set(found) == {f"dripfeed_{histogram}_seconds_bucket" for histogram in traced}, f"{name}: {found}"
    assert all(labels == {"trace_id": TRACE} for labels in found.values()), f"{name}: {found}"
    assert TRACE not in text, f"{name}: the text has no exemplars"
    print(f"metrics of the {name}: {len(in_text)} samples, the same in text and OpenMetrics; exemplars of {len(found)}")


def until(what: str, holds) -> None:
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < PATIENCE, what
        time.sleep(0.1)


def main() -> None:
    dripfeed, processes = str(Path(sys.argv[1]).resolve()), []
    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        settings = Path(folder) / "dripfeed.toml"
        settings.write_text(SETTINGS.format(folder=folder, upstream=f"http://127.0.0.1:{upstream.server_port}/"))
        try:
            redis = ["--port", "0", "--unixsocket", f"{folder}/redis.sock", "--dir", folder, "--appendonly", "yes"]
            start(processes, "redis-server", *redis, stdout=subprocess.DEVNULL)
            intake = role(processes, dripfeed, settings, "intake")
            processor = role(processes, dripfeed, settings, "processor")
            answers = [submit(intake) for _ in range(5)]
            assert answers == [202, 202, 202, 429, 429], answers
            ended = 'dripfeed_jobs_settled_total{bucket="a-bucket",outcome="delivered"} 3'
            until("jobs end", lambda: ended in get(f"{processor}/metrics", "*/*")[1])
            check("intake", intake, ["admit_duration"])
            check("processor", processor, ["attempt_duration", "job_total", "job_wait"])
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(PATIENCE)
            upstream.shutdown()


if __name__ == "__main__":
    main()
