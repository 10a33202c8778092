#!/usr/bin/env python3
"""Plain words: none of those below stands in a comment, a document or a text of the program."""

import re
import sys
from pathlib import Path

from tree import files_of

ROOT = Path(__file__).resolve().parents[2]
# What to write instead. Names in backquotes and braces are free: those of Redis, the API and the code stay.
WORDS = {
    r"again and again": "repeatedly",
    r"anew": "again",
    r"(?<!soon )as it is(?! \w)": "unchanged, as sent",
    r"at hand": "current, available",
    r"audit trail": "audit log",
    r"(?:brought|comes?|came) to light": "found, reported",
    r"by (?:itself|themselves)": "alone, automatically",
    r"can't name an?": "is not a valid …",
    r"(?:the|a) hold": "throttling, the throttle",
    r"g(?:ive|ives|iven|ave) back": "return, requeue",
    r"hand(?:s|ed)? in": "submit",
    r"held": "claimed, in flight, kept, stored",
    r"holders?(?! \(hash\))": "owner, caller",
    r"in (?:its|their) tracks": "suspended",
    r"lets? nothing pass": "allows nothing",
    r"made up for": "submitted later",
    r"means? nothing here": "unknown, not supported",
    r"mend(?:s|ed|ing)?": "repair, fix",
    r"now and (?:again|then)": "periodically, from time to time",
    r"of (?:its|their|our) own(?! \w)": "separate, own",
    r"puts? it out": "moves it to …",
    r"so many": "this many",
    r"stands? (?:here|there)": "is, contains",
    r"take (?:it|one of the two) out": "remove",
    r"takes? no more for now": "has no room now",
    r"takes? (?:its|their) leave": "leave, deregister",
    r"tells?|told|telling": "report, return, show, log",
    r"the longest that": "timeout, maximum",
    r"there is no such": "unknown …, no … exists",
    r"there is none": "none exists, no …",
    r"without anything of it": "empty",
    r"\w+'s to say": "… decides",
    r"who(?: has| have|ever)": "the caller that …, anyone who",
}
# A part of a path or of a key is a name.
WRONG = re.compile(r"(?<![:/])\b(?:" + "|".join(WORDS) + r")\b", re.I)
COMMENT = {".lua": "--", ".toml": "#", ".yml": "#", ".yaml": "#", ".conf": "#"}
# A comment, a raw text, a text, a character.
RUST = re.compile(
    r"""//([^\n]*)|r(?P<raw>#*)"(.*?)"(?P=raw)|"((?:\\.|[^"\\])*)"|'(?:\\u\{\w+\}|\\.|[^'\\\n])'""",
    re.S,
)
FREE = ("generated/", "tests/checks/", "tests/data/", "torture-report", ".snap")


def prose(path: Path) -> list[tuple[int, str]]:
    """Lines that somebody reads, with their numbers."""
    text = path.read_text(errors="replace")
    if path.suffix == ".rs":
        found = []
        for token in RUST.finditer(text):
            comment, _, raw, quoted = token.groups()
            words = raw or quoted or ""
            # One word is a name: of a field, a file, a metric.
            read = comment or (words if " " in words else "")
            first = text.count("\n", 0, token.start()) + 1
            found += enumerate(read.splitlines(), first)
        return found
    lines = list(enumerate(text.splitlines(), 1))
    if path.suffix == ".md":
        return lines
    return [(number, line.partition(COMMENT[path.suffix])[2]) for number, line in lines]


def main() -> int:
    wrong = 0
    for name in files_of(ROOT):
        path = ROOT / name
        if not path.is_file() or path.suffix not in (*COMMENT, ".md", ".rs") or any(part in name for part in FREE):
            continue
        for number, text in prose(path):
            for match in WRONG.finditer(re.sub(r"`[^`]*`|\{[^{}]*\}", "", text)):
                print(f"{name}:{number}: `{match[0]}`: {text.strip()[:120]}")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
