#!/usr/bin/env python3
"""Prints what failed in the output of `cargo test` again, at its end: the path of that output is the argument."""

import re
import sys
from pathlib import Path

# Where something is reported to fail, and how many of the lines after it say why.
MARKS = [(re.compile(r"^test .* FAILED$"), 0), (re.compile(r"^row .* FAILED"), 20), (re.compile(r"panicked at "), 6)]
MOST = 300


def main() -> None:
    shown, left = [], 0
    for line in Path(sys.argv[1]).read_text(errors="replace").splitlines():
        more = [lines for mark, lines in MARKS if mark.search(line)]
        if more:
            left = max(left, more[0] + 1)
        if left > 0:
            shown.append(line[:500])
            left -= 1
    print("\n=== what failed", *shown[:MOST], sep="\n")


if __name__ == "__main__":
    main()
