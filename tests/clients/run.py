#!/usr/bin/env python3
"""usage: run.py DRIPFEED FOLDER PYTHON NODE_MODULES

Generates a Python and a TypeScript client from the /openapi.json of an installation, and runs client.py and client.ts
with them; then the receivers of webhooks in three languages, each with a call that is signed and one that isn't."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
SECRET = "whsec_" + "ZHJpcGZlZWQ" * 4
# `{echo}` answers 200, and as its query says.
BUCKETS = """
[defaults]
allow_private = true
[buckets.orders]
upstream = "{echo}"
[buckets.small]
upstream = "{echo}?delay=1s"
capacity = 1
[buckets.broken]
upstream = "{echo}?status=404"
"""
SIGNED = """
[buckets.signed-{name}]
upstream = "http://127.0.0.1:{port}/"
signing_secret = "{secret}"
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def call(url: str, body: bytes | None = None) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@contextmanager
def process(*command: str | Path, **more):
    """Ends with the block, by its own id."""
    running = subprocess.Popen(list(map(str, command)), **more)
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


@contextmanager
def installation(dripfeed: Path, settings: str):
    port, echo = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="dripfeed-clients-") as folder:
        configuration = Path(folder) / "dripfeed.toml"
        configuration.write_text(settings.replace("{echo}", f"http://127.0.0.1:{echo}/echo"))
        arguments = ("-c", configuration, "dev", "--port", port, "--echo-port", echo, "--data", Path(folder) / "data")
        with open(Path(folder) / "log", "w+") as log:
            with process(dripfeed, *arguments, stdout=log, stderr=log, cwd=folder) as dev:
                begun = time.monotonic()
                while not is_ready(port):
                    if dev.poll() is not None or time.monotonic() - begun > PATIENCE_S:
                        log.seek(0)
                        raise SystemExit(f"dripfeed dev isn't ready:\n{log.read()}")
                    time.sleep(0.05)
                yield f"http://127.0.0.1:{port}"


def is_ready(port: int) -> bool:
    try:
        return call(f"http://127.0.0.1:{port}/readyz")[0] == 200
    except OSError:
        return False


def run(*command: str | Path, **more) -> str:
    ended = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if ended.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{ended.stdout}")
    return ended.stdout


def python_client(server: str, folder: Path, python: Path) -> None:
    """An operation that can't be generated is a fault of the description."""
    generated = folder / "python" / "dripfeed_client"
    settings = folder / "python.yaml"
    settings.write_text("project_name_override: dripfeed-client\npackage_name_override: dripfeed_client\n")
    said = run(
        *(python.parent / "openapi-python-client", "generate", "--url", f"{server}/openapi.json", "--meta", "none"),
        *("--config", settings, "--output-path", generated, "--overwrite"),
    )
    missing = [line for line in said.splitlines() if "will not be generated" in line or "Cannot parse" in line]
    # The upstream's own answer may be of any media type.
    missing = [line for line in missing if "Unsupported content_type */*" not in line]
    if missing:
        raise SystemExit("not generated:\n" + "\n".join(missing))
    environment = os.environ | {"PYTHONPATH": str(generated.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    print(run(python, ROOT / "tests/clients/client.py", server, env=environment), end="")


def typescript_build(server: str, folder: Path, modules: Path) -> Path:
    """The generated types, and what is compiled with them: its folder."""
    here = folder / "typescript"
    here.mkdir(parents=True, exist_ok=True)
    link = here / "node_modules"
    link.unlink(missing_ok=True)
    link.symlink_to(modules)
    sources = [ROOT / "tests/clients" / name for name in ("client.ts", "package.json", "tsconfig.json")]
    for source in [*sources, ROOT / "config/examples/receivers/receiver.ts"]:
        shutil.copy(source, here)
    run(modules / ".bin/openapi-typescript", f"{server}/openapi.json", "--output", here / "dripfeed.d.ts", cwd=here)
    run(modules / ".bin/tsc", "--project", here, cwd=here)
    return here / "built"


def receiver(server: str, name: str, port: int, *command: str | Path) -> None:
    """What is signed is delivered, what isn't is refused."""
    environment = os.environ | {"SECRET": SECRET, "LISTEN": f"127.0.0.1:{port}" if name == "rust" else str(port)}
    with process(*command, env=environment, stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdout.readline().startswith("listening on "), name
        answer = call(f"{server}/v1/buckets/signed-{name}/jobs", b'{"tiger":1}')
        job = json.loads(answer[1])["id"]
        assert receiving.stdout.readline().startswith(f"verified signed-{name}/{job}: "), name
        assert call(f"http://127.0.0.1:{port}/", b'{"tiger":1}')[0] == 401, name
    begun = time.monotonic()
    while (state := json.loads(call(f"{server}/v1/buckets/signed-{name}/jobs/{job}")[1])["state"]) != "delivered":
        assert time.monotonic() - begun < PATIENCE_S, state
        time.sleep(0.05)
    print(f"{name}: a signed call is verified, another one refused")


def main() -> None:
    dripfeed, folder, python, modules = (Path(path).absolute() for path in sys.argv[1:5])
    folder.mkdir(parents=True, exist_ok=True)
    ports = {name: free_port() for name in ("rust", "python", "typescript")}
    signed = "".join(SIGNED.format(name=name, port=port, secret=SECRET) for name, port in ports.items())
    with installation(dripfeed, BUCKETS + signed) as server:
        python_client(server, folder, python)
        built = typescript_build(server, folder, modules)
        print(run("node", built / "client.js", server), end="")
        receiver(server, "rust", ports["rust"], dripfeed.parent / "examples/receive")
        receiver(server, "python", ports["python"], python, ROOT / "config/examples/receivers/receiver.py")
        receiver(server, "typescript", ports["typescript"], "node", built / "receiver.js")


if __name__ == "__main__":
    main()
