#!/usr/bin/env python3
"""No source folder has more than 20 files: a newcomer reads it at a glance."""

import sys
from collections import Counter
from pathlib import Path

from tree import files_of

ROOT = Path(__file__).resolve().parents[2]
MOST = 20


def main() -> int:
    files = [Path(name) for name in files_of(ROOT)]
    sources = [file for file in files if file.suffix in (".rs", ".lua") and "src" in file.parts]
    folders = Counter(file.parent for file in sources if (ROOT / file).is_file())
    wrong = [f"{folder}: {count} files, at most {MOST}" for folder, count in folders.items() if count > MOST]
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
