#!/usr/bin/env python3
"""Plain words: none of those below stands in a comment, a document, a text of the program, or the name of a test."""

import re
import sys
from pathlib import Path

from tree import files_of

ROOT = Path(__file__).resolve().parents[2]
# What to write instead.
WORDS = {
    r"anew": "again",
    r"so many": "this many",
    r"there is none": "none exists, no …",
    r"hand(?:s|ed)? in": "submit",
    r"g(?:ive|ives|iven|ave) back": "return, requeue",
    r"mend(?:s|ed|ing)?": "repair, fix",
    r"tells?": "report, return, show",
    r"the longest that": "timeout, maximum",
    r"takes? (?:its|their) leave": "leave, deregister",
    r"whoever": "anyone who",
}
WRONG = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b", re.I)
COMMENT = {".rs": "//", ".lua": "--", ".toml": "#", ".yml": "#", ".yaml": "#", ".conf": "#"}
FREE = ("generated/", "tests/checks/", "tests/data/", "torture-report", ".snap")


def prose(path: Path) -> list[tuple[int, str]]:
    lines = list(enumerate(path.read_text(errors="replace").splitlines(), 1))
    if path.suffix == ".md":
        return lines
    mark, found = COMMENT[path.suffix], []
    for number, line in lines:
        _, comment, text = line.partition(mark) if line.lstrip().startswith(mark) or path.suffix != ".rs" else ("", "", "")
        found.append((number, text if comment else " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', line))))
    return found


def main() -> int:
    wrong = 0
    for name in files_of(ROOT):
        path = ROOT / name
        if not path.is_file() or path.suffix not in (*COMMENT, ".md") or any(part in name for part in FREE):
            continue
        for number, text in prose(path):
            for match in WRONG.finditer(text):
                print(f"{name}:{number}: `{match[0]}`: {text.strip()[:120]}")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
