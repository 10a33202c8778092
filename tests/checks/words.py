#!/usr/bin/env python3
"""Plain words: none of those below stands in a comment, a document or a text of the program."""

import io
import re
import sys
import tokenize
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
COMMENT = {
    **dict.fromkeys((".toml", ".yml", ".yaml", ".conf", ".sysusers", ".service"), "#"),
    **dict.fromkeys((".c", ".js", ".mjs", ".proto", ".ts"), "//"),
    ".lua": "--",
}
# Also what a Makefile or a script of the shell prints, which have no ending.
WHOLE = ("", ".html", ".md", ".sh")
BLOCKS = (".c", ".css", ".js", ".mjs", ".tpl", ".ts", ".yaml", ".yml")
BLOCK = re.compile(r"/\*.*?\*/", re.S)
# A comment, a raw text, a text, a character.
RUST = re.compile(
    r"""//([^\n]*)|r(?P<raw>#*)"(.*?)"(?P=raw)|"((?:\\.|[^"\\])*)"|'(?:\\u\{\w+\}|\\.|[^'\\\n])'""",
    re.S,
)
PYTHON = (".py",)
READ = (*COMMENT, *WHOLE, *BLOCKS, *PYTHON, ".rs")
FREE = ("generated/", "tests/checks/words.py", "tests/data/", "torture-report", ".snap", "LICENSE")
Lines = list[tuple[int, str]]


def prose(path: Path) -> Lines:
    """Lines that somebody reads, with their numbers."""
    text = path.read_text(errors="replace")
    if path.suffix == ".rs":
        return of_rust(text)
    if path.suffix in PYTHON:
        return of_python(text)
    lines = numbered(text, 1)
    if path.suffix in WHOLE:
        return lines
    blocks = BLOCK.finditer(text) if path.suffix in BLOCKS else ()
    found = [line for block in blocks for line in numbered(block[0], line_at(text, block.start()))]
    begins = COMMENT.get(path.suffix)
    return found + [(number, line.partition(begins)[2]) for number, line in lines if begins]


def of_rust(text: str) -> Lines:
    found = []
    for token in RUST.finditer(text):
        comment, _, raw, quoted = token.groups()
        words = raw or quoted or ""
        # One word is a name: of a field, a file, a metric.
        read = comment or (words if " " in words else "")
        found += numbered(read, line_at(text, token.start()))
    return found


def of_python(text: str) -> Lines:
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        # Of a text with values Python 3.12 makes tokens of another kind.
        if tokenize.tok_name[token.type] in ("COMMENT", "STRING", "FSTRING_MIDDLE") and " " in token.string:
            found += numbered(token.string, token.start[0])
    return found


def numbered(text: str, first: int) -> Lines:
    return list(enumerate(text.splitlines(), first))


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def main() -> int:
    wrong = 0
    for name in files_of(ROOT):
        path = ROOT / name
        if not path.is_file() or path.suffix not in READ or any(part in name for part in FREE):
            continue
        for number, text in prose(path):
            for match in WRONG.finditer(re.sub(r"`[^`]*`|\{[^{}]*\}", "", text)):
                print(f"{name}:{number}: `{match[0]}`: {text.strip()[:120]}")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
