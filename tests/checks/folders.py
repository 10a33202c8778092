#!/usr/bin/env python3
"""A newcomer reads a folder and a file at a glance: at the top level stands only what is known there, no source folder
has more than 20 files, and nine of ten files of Rust have at most 181 lines."""

import sys
from collections import Counter
from pathlib import Path

from tree import files_of

ROOT = Path(__file__).resolve().parents[2]
MOST = 20
MOST_LINES = 181
GENERATED = "crates/grpc/src/generated"
# Names with a dot are of tools.
TOP_LEVEL = """
    CHANGELOG.md CONTRIBUTING.md Cargo.lock Cargo.toml Dockerfile LICENSE Makefile README.md SECURITY.md config crates
    docker-compose.yml rust-toolchain.toml tests
""".split()


def strangers(files: list[Path]) -> list[str]:
    """What has come to the top level by accident, as the log of a measurement does."""
    names = {file.parts[0] for file in files if (ROOT / file).exists()}
    unknown = sorted(name for name in names if not name.startswith(".") and name not in TOP_LEVEL)
    return [f"{name}: not among the names of the top level" for name in unknown]


def long_files(files: list[Path]) -> list[str]:
    """Empty, or the 90th percentile of sizes and the files that are longer than they should be."""
    files = [file for file in files if file.is_file() and GENERATED not in file.as_posix()]
    lines = sorted((len(file.read_text().splitlines()), file) for file in files)
    ninth = lines[-(-len(lines) * 9 // 10) - 1][0]
    if ninth <= MOST_LINES:
        return []
    longest = [f"{file.relative_to(ROOT)}: {count} lines" for count, file in lines if count > MOST_LINES]
    return [f"the 90th percentile of files has {ninth} lines, at most {MOST_LINES}: split some of", *longest]


def main() -> int:
    files = [Path(name) for name in files_of(ROOT)]
    sources = [file for file in files if file.suffix in (".rs", ".lua") and "src" in file.parts]
    folders = Counter(file.parent for file in sources if (ROOT / file).is_file())
    wrong = [f"{folder}: {count} files, at most {MOST}" for folder, count in folders.items() if count > MOST]
    wrong += strangers(files)
    wrong += long_files([ROOT / file for file in sources if file.suffix == ".rs" and file.parts[0] == "crates"])
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
