#!/usr/bin/env python3
"""No source file depends on itself through others: prints each circle of modules in a crate, and exits with 1."""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def modules(source: Path) -> dict[tuple[str, ...], Path]:
    found = {}
    for path in source.rglob("*.rs"):
        name = path.relative_to(source).with_suffix("").parts
        found[name[:-1] if name[-1] in ("lib", "main", "mod") else name] = path
    return found


def leaves(tree: str, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of a `use` tree: `a::{b, c::d}` has a::b and a::c::d."""
    group = re.fullmatch(r"([\w:]*?)(?:::)?\{(.*)\}", tree.strip(), re.S)
    if not group:
        return [prefix + tuple(re.sub(r"\s+as\s+\w+", "", tree).strip().split("::"))]
    prefix += tuple(part for part in group[1].split("::") if part)
    parts, depth = [""], 0
    for char in group[2]:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [leaf for part in parts if part.strip() for leaf in leaves(part, prefix)]


def code(path: Path) -> str:
    """Without comments, and without tests, which may look at everything."""
    text = re.sub(r"//[^\n]*|\bpub\(in [^)]*\)", "", path.read_text())
    return re.sub(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod \w+ \{.*", "", text, flags=re.S)


def arrows(source: Path) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    known, found = modules(source), defaultdict(set)
    for module, path in known.items():
        if "tests" in module:
            continue
        text = code(path)
        paths = [leaf for tree in re.findall(r"\buse\s+((?:crate|super|self)\b[^;]*);", text) for leaf in leaves(tree)]
        paths += [tuple(name.split("::")) for name in re.findall(r"\b(?:crate|super)(?:::\w+)+", text)]
        for first, *rest in paths:
            target = {"crate": (), "self": module, "super": module[:-1]}[first]
            for part in rest:
                if part == "super":
                    target = target[:-1]
                elif (*target, part) in known:
                    target = (*target, part)
                else:
                    break
            if target != module and target in known:
                found[module].add(target)
    return found


def reachable(graph, start):
    seen, open_ = set(), list(graph.get(start, ()))
    while open_:
        node = open_.pop()
        if node not in seen:
            seen.add(node)
            open_.extend(graph.get(node, ()))
    return seen


def main() -> int:
    wrong = 0
    for source in sorted(ROOT.glob("crates/*/src")):
        graph = arrows(source)
        within = {node: reachable(graph, node) for node in graph}
        caught = [node for node in within if node in within[node]]
        circles = {frozenset(n for n in within if n in within[node] and node in within[n]) for node in caught}
        for circle in circles:
            names = ", ".join("::".join(name) or "lib" for name in sorted(circle))
            print(f"{source.relative_to(ROOT)}: a circle of {names}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
