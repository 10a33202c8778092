"""The files of the repository."""

import subprocess
from pathlib import Path


def files_of(root: Path) -> list[str]:
    """Those that git knows; without git, all but what was built."""
    try:
        return subprocess.check_output(["git", "ls-files"], cwd=root, text=True, stderr=subprocess.DEVNULL).splitlines()
    except (OSError, subprocess.CalledProcessError):
        built = {"target", ".git", ".dripfeed", "lab"}
        names = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return [str(name) for name in names if name.parts[0] not in built]
