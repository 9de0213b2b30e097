"""Runs the programs beside this file and prints what they print, each under a line ``##### name``.

    python3.10 tests/crashes/record.py python > tests/crashes/python-3.10.txt    # with each Python
    python3 tests/crashes/record.py others > tests/crashes/others.txt            # g++, gdb, rustc, javac, node, go

Folders are replaced by neutral ones. The kernel's reports come from a guest whose module was told to fail (kvdrv.c).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WAYS = {
    "crash.cpp": ("what", "what_other", "assert 5", "assert_other", "double_free", "smash"),
    "crash_asan": ("double_free", "overflow 9", "segfault"),
    "gdb": ("what", "segfault"),
    "crash.rs": ("panic", "index", "unwrap"),
    "crash.rs with backtrace": ("panic", "index", "unwrap"),
    "Crash.java": ("plain", "wrapped", "other", "thread"),
    "crash.js": ("plain", "other", "rejected"),
    "crash.go": ("index", "nil", "error", "goroutine", "deadlock"),
}


def output(*command: str, folder: Path, **more: str) -> str:
    """Standard output and error of a command that may fail."""
    environment = {**os.environ, "PYTHONFAULTHANDLER": "", "RUST_BACKTRACE": "0", "PYTHON_COLORS": "0", **more}
    run = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False, env=environment
    )
    text = run.stdout.decode(errors="replace").replace(str(folder), "/srv/app")
    text = re.sub(r"/[\w./-]+/lib/python3\.(\d+)/", r"/usr/lib/python3.\1/", text)
    return re.sub(r"/[\w./-]+/(?:goroot|go-[\d.]+)/src/", "/usr/local/go/src/", text)


def python(folder: Path) -> None:
    sys.path.insert(0, str(HERE))
    import programs

    shutil.copy(HERE / "programs.py", folder)
    names = [*programs.FAILING, *(programs.SINCE_3_11 if sys.version_info >= (3, 11) else ()), *programs.HARMLESS]
    for name in names:
        if name != "mutual_recursion":  # two thousand lines
            print(f"##### {name}\n{output(sys.executable, 'programs.py', name, folder=folder)}")


def others(folder: Path) -> None:
    for name in ("crash.cpp", "crash.rs", "Crash.java", "crash.js", "crash.go"):
        shutil.copy(HERE / name, folder)
    (folder / "src").mkdir()
    shutil.move(folder / "crash.rs", folder / "src" / "main.rs")
    for command in (
        "g++ -g -w crash.cpp -o crash", "g++ -g -w -fsanitize=address crash.cpp -o crash_asan",
        "rustc -g src/main.rs -o crash_rs", "javac Crash.java", "go build -o crash_go crash.go",
    ):  # fmt: skip
        subprocess.run(command.split(), cwd=folder, check=True, env={**os.environ, "GO111MODULE": "off"})
    for source, ways in WAYS.items():
        for way in ways:
            begin, more = {
                "crash.cpp": (["./crash"], {}), "crash_asan": (["./crash_asan"], {}), "crash.rs": (["./crash_rs"], {}),
                "gdb": (["gdb", "-batch", "-ex", "run", "-ex", "bt", "--args", "./crash"], {}),
                "crash.rs with backtrace": (["./crash_rs"], {"RUST_BACKTRACE": "1"}), "Crash.java": (["java", "Crash"], {}),
                "crash.js": (["node", "crash.js"], {}), "crash.go": (["./crash_go"], {}),
            }[source]  # fmt: skip
            print(f"##### {source} {way.split()[0]}\n{output(*begin, *way.split(), folder=folder, **more)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        {"python": python, "others": others}[sys.argv[1]](Path(temporary))
