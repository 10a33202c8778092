#!/usr/bin/env python3
"""Each query of the dashboard and of the alerts is PromQL, on metrics and labels that a process exports.

What is exported is what tests/it/contract/names lists, and compares with a running service. A panel of one chosen
bucket shows what is exported by default. Each panel of latencies asks for exemplars, and the board shows all gauges.
Each alert has a test in which it fires and one in which it doesn't, and a section of the operations guide.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BOARD = ROOT / "config/grafana/dripfeed.json"
# Prometheus' own, and that of Kubernetes.
OF_ALL = {"job", "instance", "namespace"}


def listed() -> list[str]:
    files = (ROOT / "tests/it/contract/names").glob("metrics_*.txt")
    return [line for file in files for line in file.read_text().splitlines()]


def labels_of(lines: list[str]) -> dict[str, set[str]]:
    """By name of the metric."""
    found: dict[str, set[str]] = {}
    for line in lines:
        name, _, labels = line.removesuffix(" (rare)").rstrip("}").partition("{")
        if not line.startswith("TYPE "):
            found.setdefault(name, set()).update(filter(None, labels.split(",")))
    return found


def wrong_names(query: str, known: dict[str, set[str]]) -> list[str]:
    wrong, labels = [], set(OF_ALL)
    for name, matchers in re.findall(r"\b(dripfeed_\w+)(?:\{([^}]*)\})?", query):
        if name not in known:
            wrong.append(f"no metric {name}")
            continue
        own = known[name] | OF_ALL
        wrong += [f"{name} has no label {label}" for label in re.findall(r"(\w+)\s*[=!]", matchers) if label not in own]
        labels |= own
    grouped = re.findall(r"\b(?:by|on|without|ignoring) \(([^)]*)\)", query)
    used = {label.strip() for group in grouped for label in group.split(",")}
    return wrong + [f"no metric has the label {label}" for label in sorted(used - labels)]


def empty_by_default(query: str, usual: dict[str, set[str]]) -> list[str]:
    """What the query asks of labels that only some settings export: an absent label is empty."""
    wrong = []
    for name, matchers in re.findall(r"\b(dripfeed_\w+)\{([^}]*)\}", query):
        for label, pattern in re.findall(r'(\w+)=~"([^"]*)"', matchers):
            if name in usual and label not in usual[name] | OF_ALL and not re.fullmatch(pattern, ""):
                wrong.append(f"finds nothing by default, when {name} has no label {label}")
    return wrong


def without_exemplars() -> list[str]:
    """Panels of latencies: one query of each asks, or the same points would be drawn twice."""
    panels = json.loads(BOARD.read_text())["panels"]
    latencies = [panel for panel in panels if "histogram_quantile" in json.dumps(panel)]
    asking = lambda panel: sum(target.get("exemplar", False) for target in panel["targets"])
    return [f"dashboard: {panel['title']}: exemplars of no query, or of several" for panel in latencies
            if asking(panel) != 1]


def not_shown(lines: list[str], queries: dict[str, str]) -> list[str]:
    names = [line.split()[1] for line in lines if line.startswith("TYPE ") and " gauge" in line]
    return [f"dashboard: no query of {name}" for name in sorted(set(names)) if name not in " ".join(queries.values())]


def dashboard(bucket: str) -> dict[str, str]:
    """Its queries, by where they stand, as Grafana would send them."""
    board = json.loads(BOARD.read_text())
    queries = {}
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            queries[f"{panel['title']} {target['refId']}"] = target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            queries[f"the variable {variable['name']}"] = f"count by ({label}) ({metric})"
    as_sent = lambda query: query.replace("$__rate_interval", "1m").replace("$bucket", bucket)
    return {f"dashboard: {at}": as_sent(query) for at, query in queries.items()}


def alerts() -> dict[str, str]:
    groups = yaml.safe_load((ROOT / "config/alerts/dripfeed.yml").read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def untested(names: list[str]) -> list[str]:
    tests = yaml.safe_load((ROOT / "config/alerts/dripfeed_test.yml").read_text())["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    fires = {case["alertname"] for case in cases if case["exp_alerts"]}
    silent = {case["alertname"] for case in cases if not case["exp_alerts"]}
    guide = (ROOT / "config/README.md").read_text()
    wrong = [f"{name}: no test in which it fires, and one in which it doesn't" for name in names
             if name not in fires & silent]
    return wrong + [f"{name}: no section in config/README.md" for name in names if f"\n### {name}\n" not in guide]


def unparsable(queries: dict[str, str]) -> list[str]:
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries.values())]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "queries", "rules": rules}]}, file)
        file.flush()
        checked = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
    return [] if checked.returncode == 0 else [checked.stdout + checked.stderr]


def main() -> int:
    lines, rules, panels = listed(), alerts(), dashboard(".*")
    known, usual = labels_of(lines), labels_of([line for line in lines if not line.endswith(" (rare)")])
    queries = panels | rules
    wrong = [f"{at}: {what}" for at, query in queries.items() for what in wrong_names(query, known)]
    wrong += [f"{at}: {what}" for at, query in dashboard("mail").items() for what in empty_by_default(query, usual)]
    wrong += without_exemplars() + not_shown(lines, panels)
    wrong += untested(list(rules)) + unparsable(queries)
    print("\n".join(wrong) or f"{len(panels)} queries of the dashboard and {len(rules)} alerts")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
