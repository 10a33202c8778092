#!/usr/bin/env python3
"""usage: sbom.py FILE

Checks a bill of materials: it is valid CycloneDX, and names each crate in the executable once, with its version, its
licence and where it comes from. It may name others of Cargo.lock: the tool asks `cargo metadata`, which unites the
features of all members of the workspace.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "Cargo.lock"


def built() -> set[tuple[str, str]]:
    """Name and version of each crate that cargo compiles for this machine, but those of build scripts."""
    tree = ["cargo", "tree", "--locked", "--package", "dripfeed", "--features", "dripfeed/otlp"]
    tree += ["--edges", "normal", "--prefix", "none", "--format", "{p}"]
    lines = subprocess.run(tree, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines if line]
    return {(name, version.removeprefix("v")) for name, version, *_ in words}


def main() -> None:
    text = Path(sys.argv[1]).read_text()
    bill = json.loads(text)
    fault = JsonStrictValidator(SchemaVersion.from_version(bill["specVersion"])).validate_str(text)
    assert fault is None, fault
    components = [bill["metadata"]["component"], *bill["components"]]
    listed = [(component["name"], component["version"]) for component in components]
    assert len(listed) == len(set(listed)), "a crate is listed twice"
    expected = built()
    assert set(listed) >= expected, f"missing: {expected - set(listed)}"
    locked = {(package["name"], package["version"]) for package in tomllib.loads(LOCK.read_text())["package"]}
    assert set(listed) <= locked, f"not in Cargo.lock: {set(listed) - locked}"
    for component in components:
        for member in ("purl", "licenses"):
            assert component.get(member), f"{component['name']} has no {member}"
    more = len(listed) - len(expected)
    print(f"{sys.argv[1]}: CycloneDX {bill['specVersion']}, {len(expected)} crates in the executable, {more} more")


if __name__ == "__main__":
    main()
