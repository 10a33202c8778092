#!/usr/bin/env python3
"""No crate has a dependency that its code doesn't name, and the workspace none that no crate has."""

import re
import sys
import tomllib
from pathlib import Path

from tree import files_of

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    files = [ROOT / name for name in files_of(ROOT)]
    text = {path: path.read_text() for path in files if path.suffix == ".rs" and path.is_file()}
    wrong, inherited = [], set()
    for manifest in (path for path in files if path.name == "Cargo.toml" and path.parent != ROOT):
        crate = manifest.parent
        parsed = tomllib.loads(manifest.read_text())
        # The crate of the tests has its tests beside its `src`.
        source = crate if crate.name == "tests" else crate / "src"
        for section, folder in (("dependencies", source), ("dev-dependencies", crate)):
            code = "\n".join(content for path, content in text.items() if path.is_relative_to(folder))
            for name in parsed.get(section, {}):
                inherited.add(name)
                if not re.search(rf"\b{name.replace('-', '_')}\b(?:::|!|;| as )", code):
                    wrong.append(f"{manifest.relative_to(ROOT)}: {name} in [{section}] is not used")
    everywhere = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    wrong += [f"Cargo.toml: {name} is inherited by no crate" for name in everywhere if name not in inherited]
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
