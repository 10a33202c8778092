#!/usr/bin/env python3
"""No line is longer than 120 characters: rustfmt sees to code, and to neither comments nor texts."""

import sys
from pathlib import Path

from tree import files_of

ROOT = Path(__file__).resolve().parents[2]
MOST = 120
ENDS = (".rs", ".lua", ".toml", ".py")


def main() -> int:
    wrong = 0
    for name in files_of(ROOT):
        path = ROOT / name
        if not name.endswith(ENDS) or "/generated/" in name or not path.is_file():
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > MOST:
                print(f"{name}:{number}: {len(line)} characters, at most {MOST}")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
