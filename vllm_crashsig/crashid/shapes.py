"""What failures print whatever their cause: patterns of lines, and which lines follow on which.

`MARKERS` stand behind the gate like indicators do; `FOLLOWERS` have no word of their own and are asked only of the few lines
after one that begins them (`followed_by`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..patterns import Match
from .lists import matcher

_LEAD = r"^(?P<lead>\s*(?:\|\s*)?)"
"""Indentation, and the margin that groups of exceptions have."""
_SUFFIXES = "Error|Exception|Interrupt|Exit|Failure|Fault|Timeout|Died|Dead|Lost|Unavailable|Violation|Closed"
_SIGNALS = "SIG(?:SEGV|ABRT|BUS|ILL|FPE|TRAP|SYS)"
"""Those that a program earns; others are sent to it."""

MARKERS: Mapping[str, str] = {
    "traceback": (
        r"^(?P<before>.{0,200}?)(?P<word>Exception Group |Original )?Traceback \(most recent call last\):?(?:\s|─)*╮?\s*$"
    ),
    "frame": (
        rf'{_LEAD}(?:File "(?P<file>[^"]+)", line \d+(?:, in (?P<function>\S+)| in (?P<dumped>\S+)|\s*$)'
        r'|File (?P<file2>[^\s":][^":\n]{0,300}\.pyx?):\d+(?:, in (?P<function2>[^\s(]+)\(|\s*$)'
        r"|│ (?P<file3>[^\s:]{1,300}\.pyx?):\d+ in (?P<function3>\S+)|(?P<file4>Cell In ?\[\d+\]), line \d+\s*$)"
    ),
    "exception": (
        rf'{_LEAD}(?P<java>Exception in thread "[^"]*" |Caused by: )?'
        rf"(?P<type>(?:[A-Za-z_][\w$]*\.)*[A-Z]\w*(?:{_SUFFIXES}))(?::\s+(?P<message>\S.*)?|:?\s*$)"
    ),
    "chain": (
        rf"{_LEAD}(?:(?P<cause>The above exception was the direct cause of the following exception:)"
        r"|During handling of the above exception, another exception occurred:)"
    ),
    "ignored": (
        r"^(?:Exception ignored (?:in|on|while)\b|--- Logging error ---|Error in atexit\._run_exitfuncs:|Call stack:\s*$"
        r"|Stack \(most recent call last\):|Exception in thread Thread-\d+ \(_report_(?:contin\w{1,4}ous_)?usage)"
    ),
    "request": r"^Exception in ASGI application\s*$",
    "remote": r"ray::[^\s()]+\(\) \(pid=\d+",
    "stack": (
        r"(?:^(?P<current>Current thread 0x|Stack )[^(]*|^Thread 0x[^(]*"
        r"|Exception raised from (?P<function>.{1,300}?) at (?P<file>[^\s:]+):\d+ )\(most recent call first\):"
    ),
    "terminate": (
        r"(?:terminate called (?:after throwing an instance of '(?P<type>[^']+)'|without an active exception|recursively)"
        r"|terminating due to uncaught exception of type (?P<type2>[^\s:]+(?:::[^\s:]+)*)(?:: (?P<message>.*))?)"
    ),
    "fatal_python": r"Fatal Python error: (?P<type>.{1,120})",
    "check_failed": r"Check failed: (?P<message>.{1,400})",
    "ray_fatal": r"^\*\*\* StackTrace Information \*\*\*",
    "assertion": (r"(?:(?P<file>[^\s:]+):\d+: (?:(?P<function>.{1,400}?): )?)?Assertion [`'](?P<message>.{1,400}?)' failed"),
    "heap": (
        r"^(?P<message>(?:double free or corruption|(?:free|malloc|malloc_consolidate|realloc|munmap_chunk)\(\): "
        r"|tcache_\w+\(\): |corrupted (?:size vs\. prev_size|double-linked list)"
        r"|\*\*\* (?:stack smashing|buffer overflow) detected|Fatal glibc error: )[^\n]{0,120})"
    ),
    "signal": (rf"(?:\*\*\* (?P<type>{_SIGNALS}) (?:received at time=|\(@0x)|received signal (?P<type2>{_SIGNALS}), )"),
    "sanitizer": r"ERROR: (?P<type>\w+Sanitizer): (?P<message>[\w-]+(?: on unknown address)?)",
    "core_dumped": (
        r"(?P<type>Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)\s*\(core dumped\)"
    ),
    "panic": r"thread '[^']*'(?: \(\d+\))? panicked at (?:'(?P<message>.*)', )?(?P<file>[^\s:']+):\d+:\d+:?\s*$",
    "go_panic": r"^(?:panic: |fatal error: )(?P<message>.{1,400}?)(?: \[recovered\])?\s*$",
    "goroutine": r"^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[",
    "kernel": (
        r"^(?:(?P<null>BUG: unable to handle kernel NULL pointer dereference|BUG: kernel NULL pointer dereference"
        r"|Unable to handle kernel NULL pointer dereference)"
        r"|(?P<page>BUG: unable to handle (?:kernel paging request|page fault)|Unable to handle kernel paging request)"
        r"|kernel BUG at (?P<file>\S+?):\d+!|(?P<gpf>general protection fault(?:, probably for|: \d{4} \[#|.{0,20}\[#))"
        r"|(?:watchdog: )?(?P<soft>BUG: soft lockup) - CPU#|(?:NMI )?[Ww]atchdog.{0,20}(?P<hard>detected hard LOCKUP)"
        r"|Kernel panic - not syncing: (?P<panic>.{1,200})|(?:Internal error: )?(?P<oops>Oops)(?:: | - )[^\[]{1,60}\[#\d+\])"
    ),
}
"""Python's shapes are those of Lib/traceback.py, Lib/logging/__init__.py, Modules/faulthandler.c, Python/pylifecycle.c; beside
them stand frames of IPython (core/ultratb.py) and of rich (traceback.py), which draws a box around them. Ray's are those of
python/ray/exceptions.py. ``terminate`` is libstdc++'s and libc++abi's verbose terminate handler, ``check_failed`` glog's
and absl's, ``ray_fatal`` what Ray's src/ray/util/logging.cc puts under every line of level C, ``heap`` glibc's
malloc/malloc.c, ``signal`` absl's failure_signal_handler.cc, glog's signalhandler.cc and gdb's, ``panic`` that of Rust's
library/std/src/panicking.rs, ``go_panic`` of Go's runtime/panic.go, ``kernel`` of arch/x86/mm/fault.c, traps.c, lib/bug.c
and kernel/watchdog.c."""

FOLLOWERS: Mapping[str, str] = {
    "closing": (
        r"^(?P<lead>(?:\s*\|\s)?)(?:(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:\([A-Za-z_]\w*\))?)(?::\s+(?P<message>\S.*)?|:?\s*$)"
        r"|\s*(?P<part>\+(?:-\+)?-{10,} (?:\d+|\.\.\.) -{10,}))"
    ),
    "message": r"^[\s|]*(?P<message>[^\s|].*)$",
    "what": r"^\s*what\(\): +(?P<message>\S.*)$",
    "native": (
        r"^\s*(?:frame #\d+: (?P<c10>.+?) \((?:0x[0-9a-f]+|<unknown)"
        r"|(?:PC: )?@ +0x[0-9a-f]+ +(?:(?:\d+|\(unknown\)) +)?(?P<glog>\S.*)"
        r"|#\d+ +(?:0x[0-9a-f]+ (?:in )?)?(?P<numbered>\S.*?)"
        r"(?: \(.*\) at \S+:\d+| \(\) from \S+| at \S+:\d+| /\S+| \.\./\S+| \(\S+\+0x\w+\))?\s*$"
        r"|\S+\([^()]*\+?0x[0-9a-f]+\) \[0x[0-9a-f]+\] (?P<ray>\S.*))"
    ),
    "at": (
        r"^\s+(?:at (?:async |new )?(?P<symbol>[\w$.<>/@*-]+(?: \[as \w+\])?) ?\("
        r"(?P<place>[^()\s]+:\d+(?::\d+)?|Native Method|Unknown Source|<anonymous>|[\w$]+\.\w+)\)\s*(?:~?\[[^\]]*\])?"
        r"|at (?:async )?(?P<bare>\S+:\d+:\d+)|\.\.\. \d+ (?:more|common frames omitted))$"
    ),
    "go_frame": (
        r"^(?P<created>created by )?(?P<symbol>[\w./%~-]+\.(?:\(\*?[\w\[\].,]+\)\.?)?[\w\[\]./,-]*)"
        r"(?:\(.*\))?(?: in goroutine \d+)?$"
    ),
    "kernel_frame": (
        r"^\s*(?P<rip>(?:[ER]?IP|pc|PC is at)(?: ?:)? ?(?:[0-9a-f]{4}:)?)?(?:\[<[0-9a-f]+>\] )?(?P<unsure>\? )?"
        r"(?P<symbol>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?"
    ),
}

_FOLLOWS: Mapping[str, Mapping[str, int]] = {
    "traceback": {"closing": 4},
    "chain": {"closing": 4},
    "exception": {"at": 3},
    "at": {"at": 4},
    "terminate": {"what": 4, "native": 12},
    "what": {"native": 12},
    "stack": {"native": 6},
    "signal": {"native": 12},
    "sanitizer": {"native": 12},
    "check_failed": {"native": 12},
    "ray_fatal": {"native": 12},
    "native": {"native": 6},
    "goroutine": {"go_frame": 4},
    "go_frame": {"go_frame": 4},
    "kernel": {"kernel_frame": 80},
}
"""Marker -> the followers that are asked, and of how many of the next lines (processes write between each other)."""


def followed_by(marker: str, match: Match[str], *, in_traceback: bool) -> Iterator[tuple[str, int]]:
    """The followers that are to be asked after a line that shows a marker, and of how many lines.

    in_traceback: whether a traceback of the same process was open before the line.
    """
    if marker not in ("exception", "closing"):
        yield from _FOLLOWS.get(marker, {}).items()
        if marker == "panic" and not match.group("message"):
            yield "message", 1
        return
    if "|" in match.group("lead"):  # in a group: the next one may have no traceback
        yield "closing", 4
    elif not in_traceback:
        yield from _FOLLOWS.get(marker, {}).items()
    kind = (match.groupdict().get("type") or "").rpartition(".")[2]
    if match.string.rstrip().endswith(":") or matcher("told-by-message").fullmatch(kind):
        yield "message", 2
