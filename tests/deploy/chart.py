#!/usr/bin/env python3
"""usage: chart.py DRIPFEED FOLDER

Lints and renders the chart with Helm's own engine, validates what Kubernetes knows with its schemas, refuses values
that can't work, and has the executable read the settings and the environment that the pods would get. Objects that
Kubernetes doesn't know are written to FOLDER, as are those of KEDA, for custom_resources.mjs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import helm_python
import kubernetes_validate
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "config/deploy"
CHART = DEPLOY / "helm"
# The oldest that the chart names, and the latest that the schemas know.
VERSIONS = ("1.25", "1.37")
# What the files of Secrets hold here.
HASH = "0" * 64
SECRETS = {"shop": HASH, "scale": "1" * 64, "mail.headers": "Authorization: Bearer x", "url": "redis://redis:6379"}
REFUSED = {
    "no settings": {"config": {}},
    "a section without settings": {"config": {"trace": None}},
    "no key for callers": {"config": {"keys": []}},
    "an address of Redis beside the Secret": {"config": {"redis": {"url": "redis://redis:6379"}}},
    "an address to listen on": {"config": {"intake": {"listen": "0.0.0.0:80"}}},
    "no Secret with the address of Redis": {"redis": {"urlSecret": {"name": ""}}},
    "an unknown value": {"intakes": 2},
    "no intake": {"intake": {"replicas": 0}},
    "a processor that may not finish its calls": {"processor": {"drainSeconds": 0}},
    "an intake that may not finish its requests": {"intake": {"drainSeconds": 0}},
    "a peer of no kind": {"networkPolicy": {"callers": [{}]}},
    "no port of Redis": {"networkPolicy": {"redisPorts": []}},
    "a receiver of traces that nothing is sent to": {"networkPolicy": {"traces": [{"podSelector": {}}]}},
    "a Secret whose folder is that of the address of Redis": {"secrets": ["dripfeed-redis"]},
    "a Secret whose folder is that of the certificate": {"secrets": ["dripfeed-tls"]},
    "a variable that isn't text": {"processor": {"env": [{"name": "WORKERS", "value": 4}]}},
}
# As long as Helm allows, and with a dot: Services and volumes may have neither.
LONG_NAME = f"a.{'long-' * 10}e"
DNS_LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# Each role waits so long for Redis before it listens.
WAITS_FOR_REDIS = 30
# Ports that pods of both roles reach, by the value with their peers, in `all`.
EGRESS = {"redis": [6379, 26379], "traces": [4320]}


def merged(values: dict, change: dict) -> dict:
    """A key that is empty in the change is empty then."""
    nested = {key: merged(values.get(key) or {}, value) if isinstance(value, dict) and value else value
              for key, value in change.items()}
    return values | nested


def lint(values: dict) -> None:
    report = helm_python.lint(CHART, values, strict=True)
    # 1 is advice, such as an icon.
    wrong = [message for message in report["messages"] if message["severity"] > 1] + report["errors"]
    assert not wrong, wrong


def rendered(values: dict, name: str = "queue") -> list[dict]:
    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        texts = chart.render(values, name=name, namespace="queue").values()
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def validate(document: dict) -> bool:
    """Whether Kubernetes itself knows the object, which then fits its schema."""
    group = document["apiVersion"].rpartition("/")[0]
    if "." in group and not group.endswith(".k8s.io"):
        return False
    for version in VERSIONS:
        kubernetes_validate.validate(document, version, strict=True)
    return True


def check_settings(dripfeed: str, documents: list[dict]) -> None:
    """As the pods would start, but for the folder of the Secrets."""
    [settings] = [doc["data"]["dripfeed.yaml"] for doc in documents if "dripfeed.yaml" in doc.get("data", {})]
    pods = [doc["spec"]["template"]["spec"] for doc in documents if doc["kind"] == "Deployment"]
    assert len(pods) == 2
    for pod in pods:
        [container] = pod["containers"]
        env = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
        with tempfile.TemporaryDirectory() as folder:
            here = lambda text: text.replace("/run/secrets", folder)
            certificate(Path(folder, "dripfeed-tls"))
            for mount in container["volumeMounts"]:
                for name, text in SECRETS.items():
                    if mount["mountPath"].startswith("/run/secrets/"):
                        write(Path(here(mount["mountPath"]), name), text)
            write(Path(folder, "dripfeed.yaml"), here(settings))
            env = {name: here(value) for name, value in env.items()} | {"PATH": os.environ["PATH"]}
            assert container["args"][:2] == ["-c", "/etc/dripfeed/dripfeed.yaml"]
            subprocess.run([dripfeed, "-c", f"{folder}/dripfeed.yaml", "check"], env=env, check=True,
                           stdout=subprocess.DEVNULL)


def check_network(values: dict, documents: list[dict]) -> None:
    """Both roles reach what the settings name, on each of its ports, and only there."""
    policies = [doc["spec"] for doc in documents if doc["kind"] == "NetworkPolicy"]
    assert len(policies) == 2
    for policy in policies:
        allowed = [(rule["to"], port["port"]) for rule in policy["egress"] for port in rule.get("ports", [])
                   if "to" in rule]
        expected = [(values["networkPolicy"][peers], port) for peers, ports in EGRESS.items() for port in ports]
        assert allowed == expected, (allowed, expected)


def check_env(values: dict, documents: list[dict]) -> None:
    """The variables of a role are those of its container."""
    for document in documents:
        if document["kind"] == "Deployment":
            [container] = document["spec"]["template"]["spec"]["containers"]
            for entry in values[container["name"]]["env"]:
                assert entry in container["env"], entry


def check_names(values: dict) -> None:
    """What must be a DNS label is one, whatever a release and its Secrets are called."""
    documents = rendered(merged(values, {"secrets": ["callers.v1", "upstreams"]}), LONG_NAME)
    names = [doc["metadata"]["name"] for doc in documents]
    for document in documents:
        if document["kind"] == "Deployment":
            pod = document["spec"]["template"]["spec"]
            volumes, mounted = pod["volumes"], pod["containers"][0]["volumeMounts"]
            [callers] = [mount["name"] for mount in mounted if mount["mountPath"] == "/run/secrets/callers.v1"]
            assert {"secretName": "callers.v1", "defaultMode": 0o440} in [
                volume["secret"] for volume in volumes if volume["name"] == callers], callers
            names += [volume["name"] for volume in volumes]
    wrong = [name for name in names if not DNS_LABEL.fullmatch(name)]
    assert not wrong, wrong


def check_probes(documents: list[dict]) -> None:
    """A role that waits for Redis at its start isn't killed for it."""
    for document in documents:
        if document["kind"] == "Deployment":
            probe = document["spec"]["template"]["spec"]["containers"][0]["startupProbe"]
            assert probe["periodSeconds"] * probe["failureThreshold"] > WAITS_FOR_REDIS, probe


def check_protocol(values: dict) -> None:
    """A proxy that reads the port's protocol speaks HTTP/2 in clear text only where the intake does."""
    for secret, protocol in (("intake-tls", None), ("", "kubernetes.io/h2c")):
        services = [doc["spec"]["ports"] for doc in rendered(merged(values, {"intake": {"tlsSecret": secret}}))
                    if doc["kind"] == "Service"]
        [grpc] = [port for ports in services for port in ports if port["name"] == "grpc"]
        assert grpc.get("appProtocol") == protocol, (secret, grpc)


def certificate(folder: Path) -> None:
    folder.mkdir()
    names = ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=intake", *names],
                   check=True, capture_output=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o440)


def main() -> int:
    dripfeed, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    others, known = [], 0
    for case in ("all", "least"):
        values = yaml.safe_load((CHART / f"ci/{case}.yaml").read_text())
        lint(values)
        documents = rendered(values)
        check_settings(dripfeed, documents)
        if case == "all":
            check_network(values, documents)
            check_env(values, documents)
            check_protocol(values)
            check_names(values)
            check_probes(documents)
        foreign = [document for document in documents if not validate(document)]
        others += foreign
        known += len(documents) - len(foreign)
    for what, change in REFUSED.items():
        try:
            rendered(merged(values, change))
        except helm_python.HelmValuesError:
            continue
        print(f"{what} passes values.schema.json")
        return 1
    for file in sorted((DEPLOY / "keda").glob("*.yaml")):
        others += yaml.safe_load_all(file.read_text())
    (folder / "custom_resources.json").write_text(json.dumps(others))
    print(f"the chart: {known} objects of Kubernetes, {len(others)} of others")
    return 0


if __name__ == "__main__":
    sys.exit(main())
