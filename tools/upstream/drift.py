"""Reports where the newest vLLM, Ray, torch and NCCL packages have moved away from the catalogue.

    make drift                                   (.venv/bin/python tools/upstream/drift.py, needs the network, about 1.5 GB)
    .venv/bin/python tools/upstream/drift.py --wheels DIR vllm ray      use wheels that lie in DIR, look at two packages only

Names: options and variables that remedies name and the newest package no longer has, or has again. Messages: for each
indicator whose source is one of these packages and whose versions reach the newest one, the longest literal text of each of its
alternatives is looked for in the strings of the package (Python constants, and the bytes of its libraries). A text that is
there up to the words that the program fills in counts as found. What is reported is a hint to look, not a proof: a message may
be put together from pieces, or come from a dependency. Nothing is changed; new releases are taken in with extract.py.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from extract import READERS, Names
from upstream_names import NameList, claimed, mentions, name_lists, newest, places
from wheels import DownloadError, Wheel, download

from vllm_crashsig import load_catalogue
from vllm_crashsig.catalogue import Catalogue
from vllm_crashsig.schema import Indicator

sre: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

PACKAGES = {"vllm": "vllm", "ray": "ray", "torch": "torch", "nccl": "nvidia-nccl-cu12"}
SOURCES = {
    "vllm": r"\bvllm(?:-project/vllm)?[ /]",
    "ray": r"\bray-project/ray\b|\b(?:python|src)/ray/|\bray/",
    "torch": r"\bpytorch\b|\btorch/",
    "nccl": r"\bNVIDIA/nccl\b|\bnccl\b",
}
LIBRARIES = {
    "vllm": r"vllm/.*\.so$",
    "ray": r"ray/(?:_raylet\.so|core/src/ray/(?:gcs/gcs_server|raylet/raylet))$",
    "torch": r"torch/lib/lib(?:c10|torch)\w*\.so$",
    "nccl": r".*/libnccl\.so",
}
SHORTEST = 12
"""Texts shorter than this are found by chance."""


# --- the texts of the indicators ---------------------------------------------------------------------------------------------


def sequences(items: Iterable[Any], limit: int = 40) -> list[list[str | None]]:
    """The alternatives of a parsed regex, each as characters, with None where anything else stands."""
    ways: list[list[str | None]] = [[]]
    for op, value in items:
        name = str(op)
        if name == "LITERAL":
            parts: list[list[str | None]] = [[chr(value)]]
        elif name == "SUBPATTERN":
            parts = sequences(value[3], limit)
        elif name == "ATOMIC_GROUP":
            parts = sequences(value, limit)
        elif name == "BRANCH":
            parts = [way for branch in value[1] for way in sequences(branch, limit)]
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] == value[1] == 1:
            parts = sequences(value[2], limit)
        elif name in ("AT", "ASSERT", "ASSERT_NOT"):
            parts = [[]]
        else:
            parts = [[None]]
        ways = [before + after for before in ways for after in parts][:limit]
    return ways


_PREFIX = re.compile(
    r"^(?:[\w.]*(?:Error|Exception|Timeout|Unsupported|Failed)\)?: ?|NCCL (?:INFO|WARN) "
    r"|Value error, |Triton Error \[\w+\]: |\W+)+"
)
_NOT_ITS_OWN = re.compile(
    r"\.py\b|^in \w+$|\w/|\[?Errno|errno:|exit ?code|EXIT CODE|[Ss]ignal \d|SIG[A-Z]{3}|^(?:\w+ )?(?:set|Error|error):?$"
    r"|Cannot allocate memory|Address already in use|Connection (?:timed out|refused|reset)|No route to host|Broken pipe"
    r"|Network is unreachable|No such file|Permission denied|not permitted|Too many open files|temporarily unavailable"
    r"|requested address|not supported by protocol|not supported on this system"
)


def _own_words(run: str) -> str:
    """What of a literal text the program itself words: not the class of an exception before it, no frame of a traceback, no
    error of the operating system, no exit code. Nothing if little is left."""
    text = _PREFIX.sub("", " ".join(run.split())).strip(" :;,'\"([{")
    return "" if _NOT_ITS_OWN.search(text) or " " not in text else text


def core_texts(indicator: Indicator) -> list[str]:
    """The longest literal text of each alternative; none for an alternative that has only short ones."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = sre.parse(indicator.pattern)
    except (re.error, OverflowError):
        return []
    texts = []
    for way in sequences(parsed):
        runs = "".join("\0" if c is None else c for c in way).split("\0")
        longest = max((_own_words(run) for run in runs), key=len)
        if len(longest) >= SHORTEST and longest not in texts:
            texts.append(longest)
    return texts


# --- the strings of a package ------------------------------------------------------------------------------------------------


class Strings:
    """What a package may print."""

    def __init__(self, product: str, wheel: Wheel) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = {"nccl": "nvidia/"}.get(product, product + "/")
            pieces = (
                text
                for _, tree in wheel.trees(rf"{folder}(?!test/|tests/|.*/tests/|thirdparty_files/|rllib/|core/generated/)")
                for text in _constants(tree)
            )
            text = "\n".join(dict.fromkeys(pieces)).encode("ascii", "replace")  # bytes are searched faster
        printable = re.compile(rb"[\x20-\x7e]{10,}")
        found = {one for data in wheel.pieces(LIBRARIES[product]) for one in printable.findall(data) if one.count(b" ") > 1}
        self._text = (text + b"\n" + b"\n".join(found)).lower()

    def has(self, text: str) -> bool:
        """Whether the text is there, or most of its runs of three words: between others the program fills in something."""
        wanted = text.lower().encode("ascii", "replace")
        if wanted in self._text:
            return True
        words = wanted.split(b" ")
        runs = [b" ".join(words[i : i + 3]) for i in range(len(words) - 2)]
        return len(runs) > 1 and sum(run in self._text for run in runs) >= 0.6 * len(runs)


def _constants(tree: ast.Module) -> Iterator[str]:
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(node.value) >= 6
            and id(node) not in documentation
        ):
            yield " ".join(node.value.split())
        elif isinstance(node, ast.JoinedStr):
            yield " ".join("".join(str(v.value) if isinstance(v, ast.Constant) else "\0" for v in node.values).split())


# --- the report --------------------------------------------------------------------------------------------------------------


def name_report(product: str, version: str, now: Names, catalogue: Catalogue) -> list[str]:
    """Options and variables that our remedies name: gone, and back."""
    known: NameList = name_lists()[product]
    last = newest(product)
    lines = [f"{PACKAGES[product]} {version} (the lists end at {last})"]
    used: dict[str, set[str]] = {}
    for one in catalogue.fingerprints.values():
        for place in places(one):
            for mention in mentions(place):
                if mention.kind in ("option", "environment"):
                    used.setdefault(mention.name, set()).add(one.id)
    every_name_now = {name for names in now.values() for name in names}
    for group, rows in known.groups.items():
        for name in sorted(set(rows) & set(used)):
            had, has = last in known.having(group, name), name in now.get(group, ())
            if had and not has and group in now:
                lines.append(f"  gone: {name} ({group}), named by {', '.join(sorted(used[name]))}")
            elif has and not had:
                lines.append(f"  back: {name} ({group}), named by {', '.join(sorted(used[name]))}")
    unlisted = {name for rows in known.groups.values() for name in rows}
    prefix = {"vllm": "VLLM_", "ray": "RAY_", "nccl": "NCCL_", "torch": "TORCH_"}[product]
    new = [name for name in sorted(set(used) & every_name_now - unlisted) if name.startswith(prefix)]
    lines += [f"  new: {name}, named by {', '.join(sorted(used[name]))}" for name in new]
    for group in sorted(now):
        fresh = now[group] - set(known.groups.get(group, {}))
        gone = {n for n in known.groups.get(group, {}) if last in known.having(group, n)} - now[group]
        if (fresh or gone) and group in ("environment", "vllm serve", "ray start"):
            lines.append(f"  {group}: {len(fresh)} new, {len(gone)} gone since {last}")
    return lines if len(lines) > 1 else [lines[0] + ": every name that remedies use is where it was"]


def message_report(strings: dict[str, Strings], versions: dict[str, str], catalogue: Catalogue) -> list[str]:
    """Texts of indicators that the newest packages no longer hold."""
    looked_for: dict[str, list[tuple[str, str, list[str]]]] = {product: [] for product in strings}
    shared: dict[tuple[str, str], list[str]] = {}
    for one in catalogue.fingerprints.values():
        for name, indicator in one.indicators.items():
            if one.status == "deprecated" or not indicator.source:
                continue
            products = [p for p, pattern in SOURCES.items() if re.search(pattern, indicator.source)]
            if not products or any(p not in strings for p in products):
                continue
            claim = indicator.versions or one.versions
            if any(not claimed(p, claim).contains(_reached(p, versions[p], catalogue), prereleases=True) for p in products):
                continue
            shared[one.id, name] = products
            for product in products:
                looked_for[product].append((one.id, name, core_texts(indicator)))
    missing = {p: {t for _, _, texts in rows for t in texts if not strings[p].has(t)} for p, rows in looked_for.items()}
    lines, checked = [], 0
    for (one_id, name), products in shared.items():
        texts = next(t for i, n, t in looked_for[products[0]] if (i, n) == (one_id, name))
        checked += len(texts)
        gone = [t for t in texts if all(t in missing[p] for p in products)]
        where = " and ".join(products)
        if gone and len(gone) == len(texts):
            lines.append(f"  {one_id}:{name}: no text of it found in {where}: {_short(gone)}")
        elif gone:
            lines.append(f"  {one_id}:{name}: {len(gone)} of {len(texts)} texts not in {where}: {_short(gone)}")
    whole = sum("no text of it" in line for line in lines)
    some = len(lines) - whole
    head = f"{checked} texts of {len(shared)} indicators looked for: {whole} indicators have none left, {some} lack some"
    return [head, *sorted(lines, key=lambda line: ("no text of it" not in line, line))]


def _reached(product: str, version: str, catalogue: Catalogue) -> str:
    """The newest version that any fingerprint claims: a release the catalogue has not been widened to yet is looked at all the
    same, for the indicators that reach to the end."""
    claims = [
        c
        for one in catalogue.fingerprints.values()
        for c in [one.versions, *(i.versions or "" for i in one.indicators.values())]
    ]
    label = {"vllm": "vLLM", "ray": "Ray", "nccl": "NCCL", "torch": "torch"}[product]
    ends = [m for claim in claims for m in re.findall(rf"\b{label} [\d.x]+ to (\d+(?:\.\d+)*)", claim)]
    end = max(ends, key=lambda v: [int(p) for p in v.split(".")], default=version)
    return min(end, version, key=lambda v: [int(p) for p in re.findall(r"\d+", v)])


def _short(texts: list[str]) -> str:
    return "; ".join(f'"{t[:90]}"' for t in texts[:4]) + (" ..." if len(texts) > 4 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=[], help=f"of {', '.join(PACKAGES)} (default: all)")
    parser.add_argument("--wheels", type=Path, help="folder of wheels to use and to keep")
    parser.add_argument("--pin", action="append", default=[], metavar="NAME==VERSION", help="take this version of a package")
    given = parser.parse_args()
    pins = dict(one.split("==") for one in given.pin)
    catalogue = load_catalogue()
    strings, versions, names = {}, {}, []
    with tempfile.TemporaryDirectory(prefix="drift-") as temporary:
        folder = given.wheels or Path(temporary)
        for product in given.packages or PACKAGES:
            package = PACKAGES[product]
            try:
                wheel = Wheel(download(f"{package}=={pins[package]}" if package in pins else package, folder))
            except DownloadError as error:
                print(f"not looked at: {error}")
                continue
            versions[product] = wheel.version
            names += name_report(product, wheel.version, READERS[product](wheel), catalogue)
            strings[product] = Strings(product, wheel)
        print("Names", *names, "", "Messages", *message_report(strings, versions, catalogue), sep="\n")


if __name__ == "__main__":
    main()
