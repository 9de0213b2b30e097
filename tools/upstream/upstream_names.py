"""Which names the advice of a fingerprint mentions, and whether the released packages have them.

Used by tests/test_upstream_names.py (against the lists of tests/upstream) and by drift.py (against the newest packages).
A name is an option, an environment variable, a sysctl, a key of a YAML or JSON file, a program or a Python API. Names come
from commands, which are split as a shell would, and from the words of summary, impact and steps.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from vllm_crashsig.schema import PLACEHOLDER, Fingerprint, Step

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "tests" / "upstream"
VERSIONED = ("vllm", "ray", "nccl", "torch")
"""Lists that know versions; the others only know that a name exists."""

OPTION_ORDER = ("vllm", "ray", "docker", "kubernetes", "other")
"""Whose option it is when words mention one without its program."""

OWNERS = (
    ("VLLM_", "vllm"),
    ("RAY_", "ray"),
    ("NCCL_", "nccl"),
    ("TORCH_", "torch"),
    ("PYTORCH_", "torch"),
    ("TORCHINDUCTOR_", "torch"),
    ("GLOO_", "torch"),
)
"""Whose variables begin so. A name that is not in the owner's list may still be in another (vLLM reads RAY_ variables too)."""


@dataclass(frozen=True)
class Mention:
    """One name in one place."""

    kind: str
    """``option``, ``environment``, ``sysctl``, ``key``, ``program`` or ``api``."""
    name: str
    program: str = ""
    """Whose option it is (``docker run``), or nothing where words mention it."""


@dataclass(frozen=True)
class Place:
    """One step, or the summary or impact, of one fingerprint."""

    fingerprint: str
    part: str
    text: str
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    """What its condition says of versions."""
    claim: str = ""
    """The ``versions`` of the fingerprint."""

    def __str__(self) -> str:
        return f"{self.fingerprint}, {self.part} ({' '.join(self.text.split())[:60]}...)"


def places(one: Fingerprint) -> Iterator[Place]:
    """Everything of a fingerprint that gives advice or explains."""
    for part, text in (("summary", one.summary), ("impact", one.impact)):
        if text:
            yield Place(one.id, part, text, claim=one.versions)
    for part in ("immediate", "investigate", "prevent", "verify"):
        steps: list[Step] = getattr(one.remediation, part)
        for at, step in enumerate(steps):
            versions: dict[str, str] = {str(k): v for k, v in step.if_.versions.items()} if step.if_ else {}
            yield Place(one.id, f"{part}[{at}]", step.text, step.command or "", versions, one.versions)


# --- the lists -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NameList:
    """One file of tests/upstream."""

    product: str
    versions: tuple[str, ...]
    groups: Mapping[str, Mapping[str, Any]]

    def having(self, group: str, name: str) -> frozenset[str]:
        """The versions looked at that have the name."""
        row = self.groups.get(group, {}).get(name)
        if row is None:
            return frozenset()
        if not isinstance(row, list):
            return frozenset(self.versions)
        first, last, lacking = row[0], row[1], row[2] if len(row) > 2 else ()
        span = self.versions[self.versions.index(first) : self.versions.index(last) + 1]
        return frozenset(span) - frozenset(lacking)


@lru_cache(maxsize=1)
def name_lists() -> dict[str, NameList]:
    lists = {}
    for path in sorted(LISTS.glob("*.json")):
        data = json.loads(path.read_text())
        lists[path.stem] = NameList(path.stem, tuple(data.get("versions", ())), data["names"])
    return lists


@lru_cache(maxsize=1)
def programs() -> frozenset[str]:
    """Programs and subcommands whose options are known (``docker run``, ``df``)."""
    known = {group for one in name_lists().values() for group in one.groups if not group[0].isupper()}
    known |= {f"{p} {sub}" for p in ("vllm", "ray") for sub in name_lists()[p].groups[p] if sub[0] != "-"}
    return frozenset(" ".join(one.split()[: n + 1]) for one in known for n in range(len(one.split())))


# --- commands --------------------------------------------------------------------------------------------------------------

SHELL_WORDS = frozenset(
    """echo export unset ulimit cd command for in do done if then fi else while exec eval test [ { } ! set source . wait true
    false""".split()  # noqa: SIM905
)
WRAPPERS = ("xargs", "timeout", "env", "docker run", "docker exec", "kubectl exec", "srun", "mpirun")
"""Programs after which the name of another program begins a command of its own."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPTION_IN_WORDS = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*(?:=all\b)?")
_VARIABLE = re.compile(r"(?<![\w])[A-Z][A-Z0-9]*(?:_[A-Za-z0-9]+)+(?!\w)")
_SET_VARIABLE = re.compile(r"(?:^|[\s;&|(])([A-Z][A-Z0-9]{2,})=|\$\{?([A-Z][A-Z0-9]{2,})\b")
_SYSCTL = re.compile(r"\b(?:net|vm|kernel|fs|user)\.[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_CAMEL = re.compile(r"(?<![\w./$'-])[a-z]+(?:[A-Z][a-z]+)+(?:\.[a-zA-Z]+)*(?![\w(])")
_DOTTED_FIELD = re.compile(r"(?<![\w./-])(?:spec|resources|limits|requests|securityContext|deploy|status)(?:\.[a-zA-Z-]+)+")
_API = re.compile(
    r"(?<![\w./-])(?:torch|ray|vllm|transformers|safetensors)(?:\.\w+)+(?<!\.log)(?<!\.service)(?<!\.sock)(?![\w/*-])"
)
_MODULE_PARAMETER = re.compile(r"\bNVreg_\w+")
_UNIT_SETTING = re.compile(r"\b[A-Z][a-z]+[A-Z]\w+(?==)|(?<=-p )[A-Z][a-z]+[A-Z]\w+")
_BACKTICKS = re.compile(r"`([^`]+)`")


def plain(text: str) -> str:
    """A command without its placeholders: ``{fact|words}`` and ``<words>`` become one word."""
    text = PLACEHOLDER.sub("WORD", text)
    return re.sub(r"<[A-Za-z0-9][^<>\n]*>", "WORD", text)


def as_mapping(command: str) -> Any:
    """What a piece of YAML or JSON says, or nothing if the command is for a shell."""
    if not re.match(r"\s*(?:\{ *\"|[A-Za-z][\w.-]*: )|\s*[A-Za-z]\w*:\n", command):
        return None
    try:
        found = yaml.safe_load(plain(command).replace("...", "WORD"))
    except yaml.YAMLError:
        return None
    return found if isinstance(found, dict) else None


def keys(value: Any) -> Iterator[str]:
    """All keys of a nested mapping. Keys below ``tmpfs`` or ``emptyDir`` count like any other."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def shell_commands(command: str) -> Iterator[list[str]]:
    """The simple commands of a shell line, each as its words."""
    for line in plain(command).replace("\\\n", " ").splitlines():
        for inner in re.findall(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)", line):
            yield from shell_commands(inner)
        lexer = shlex.shlex(re.sub(r"\s# .*", "", line), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words: list[str] = []
        try:
            for word in lexer:
                if word and all(c in "();<>|&" for c in word) and ">" not in word and "<" not in word:
                    if words:
                        yield words
                    words = []
                else:
                    words.append(word)
        except ValueError:
            yield [f"cannot be split: {line}"]
        if words:
            yield words


def program_mentions(words: list[str]) -> Iterator[Mention]:
    """The programs and options of one simple command."""
    while words and (
        words[0] in SHELL_WORDS - {"echo", "ulimit", "export", "unset", "for", "cd"} or _ASSIGNMENT.match(words[0])
    ):
        if words[0] == "command":
            return
        words = words[1:]
    if not words:
        return
    if words[0].startswith("cannot be split"):
        yield Mention("program", words[0])
        return
    if words[0] in SHELL_WORDS or words[0].startswith(("$", "/", ">", "2>")):
        return
    if words[0] in ("python", "python3") and words[1:2] == ["-m"] and len(words) > 2:
        yield from program_mentions(words[2:] if words[2] == "pip" else ["python3", "-m"])
        return
    if words[0] == "sudo":
        yield from program_mentions(words[1:])
        return
    program, rest = re.sub(r"^python$", "python3", words[0].rpartition("/")[2]), words[1:]
    if program not in programs():
        yield Mention("program", program)
        return
    at = 0
    while True:  # the longest chain of subcommands that is known, past options that stand between
        following = [i for i in range(at, len(rest)) if re.fullmatch(r"[a-z][\w-]*", rest[i])]
        longer = next((i for i in following if f"{program} {rest[i]}" in programs()), None)
        if longer is None:
            break
        yield from options(program, rest[at:longer])
        program, at = f"{program} {rest[longer]}", longer + 1
    if program in ("vllm", "ray", "docker", "kubectl", "hf") and (bare := [w for w in rest if re.fullmatch(r"[a-z][\w-]*", w)]):
        program += " " + bare[0]  # an unknown subcommand
    yield Mention("program", program)
    rest = rest[at:]
    if program.startswith(WRAPPERS) or "vllm-openai" in " ".join(rest):
        for i, word in enumerate(rest):
            if word == "--" or "vllm-openai" in word:
                yield from options(program, rest[:i])
                yield from program_mentions(rest[i + 1 :] if word == "--" else ["vllm", "serve", *rest[i + 1 :]])
                return
            if word.removeprefix("./") in programs() and not (i and rest[i - 1] in ("--entrypoint", "-u")):
                yield from options(program, rest[:i])
                yield from program_mentions(rest[i:])
                return
    yield from options(program, rest)


def options(program: str, words: list[str]) -> Iterator[Mention]:
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and len(word) > 1 and not re.fullmatch(r"-\d+\w*", word):
            name = word if word == "--help=all" else word.partition("=")[0]
            yield Mention("option", name, program)


def mentions(place: Place) -> Iterator[Mention]:
    """Every name in one place."""
    text, command = PLACEHOLDER.sub(lambda m: m.group(2) or "", place.text), place.command
    words = text
    if command:
        mapping = as_mapping(command)
        if mapping is not None:
            yield from (Mention("key", key) for key in keys(mapping))
        elif command.startswith("runtime_env="):
            yield from (Mention("key", key) for key in re.findall(r"'(\w+)':", command))
        elif not command.startswith(("if __name__", "python3 -c 'import glob")):
            for simple in shell_commands(command):
                yield from program_mentions(simple)
        words += "\n" + " ".join(re.findall(r"\s# (.*)", command))
    for quoted in _BACKTICKS.findall(text):
        first = quoted.split()[0] if quoted.split() else ""
        if " " in quoted and first in programs() and as_mapping(quoted) is None:
            for simple in shell_commands(quoted):
                yield from program_mentions(simple)
    yield from (Mention("option", name) for name in _OPTION_IN_WORDS.findall(words))
    both = text + "\n" + PLACEHOLDER.sub("", command)
    yield from (Mention("environment", name) for name in _VARIABLE.findall(both))
    yield from (Mention("environment", a or b) for a, b in _SET_VARIABLE.findall(both))
    yield from (Mention("sysctl", name) for name in _SYSCTL.findall(both))
    yield from (
        Mention("key", name)
        for name in [*_CAMEL.findall(text), *(part for dotted in _DOTTED_FIELD.findall(text) for part in dotted.split("."))]
    )
    yield from (Mention("key", name) for name in [*_MODULE_PARAMETER.findall(both), *_UNIT_SETTING.findall(both)])
    yield from (Mention("api", name) for name in _API.findall(both))
    for json_text in re.findall(
        r"--(?:compilation-config|hf-overrides|limit-mm-per-prompt|kv-transfer-config) '(\{.*?\})'", command
    ):
        yield from (Mention("key", key) for key in re.findall(r'"(\w+)" ?:', json_text))


# --- the check -------------------------------------------------------------------------------------------------------------


def lookups(mention: Mention) -> Iterator[tuple[str, str, str]]:
    """(list, group, name) of every place where the lists may hold the name, the likeliest first."""
    name = mention.name
    if mention.kind == "option":
        for product in OPTION_ORDER:
            one = name_lists()[product]
            for group in one.groups:
                if group[0].isupper() or group in ("environment", "python", "config", "keys", "fields"):
                    continue
                if not mention.program or group == mention.program or mention.program.startswith(group + " "):
                    yield product, group, name
    elif mention.kind == "environment":
        owner = next((product for start, product in OWNERS if name.startswith(start)), "other")
        for product in [owner, *(p for p in name_lists() if p != owner)]:
            for group in ("environment", "constants", "capabilities"):
                yield product, group, name
    elif mention.kind == "sysctl":
        yield "other", "sysctl", name
    elif mention.kind == "key":
        for product, one in name_lists().items():
            for group in ("fields", "keys", "compose", "daemon.json", "config", "runtime_env", "settings"):
                if group in one.groups:
                    yield from ((product, group, form) for form in (name, f"{name}s", name.removesuffix("s")))
    elif mention.kind == "api":
        for product in name_lists():
            yield from ((product, group, name) for group in ("python", "modules"))


def spellings(mention: Mention) -> list[str]:
    """Forms in which a list may hold an option: ``-ltn`` is ``-l``, ``-t`` and ``-n``; all of them must be known."""
    if mention.kind != "option" or mention.name.startswith("--") or len(mention.name) == 2:
        return [mention.name]
    valued = re.match(r"-[a-zA-Z](?=[^a-zA-Z])", mention.name)
    return [valued.group()] if valued else ["-" + letter for letter in mention.name[1:]]


def claimed(product: str, claim: str) -> SpecifierSet:
    """The versions of a product that the ``versions`` of a fingerprint name; all of them if it names none."""
    label = {"vllm": "vLLM", "ray": "Ray", "nccl": "NCCL", "torch": "torch"}[product]
    if found := re.search(rf"\b{label} (\d+(?:\.\d+)*)(?:\.x)? to (\d+(?:\.\d+)*)", claim):
        last = found.group(2)
        return SpecifierSet(f">={found.group(1)}") & SpecifierSet(f"<{next_version(last)}")
    if found := re.search(rf"\b{label} up to (\d+(?:\.\d+)*)", claim):
        return SpecifierSet(f"<{next_version(found.group(1))}")
    if found := re.search(rf"\b{label} (\d+(?:\.\d+)*) on", claim):
        return SpecifierSet(f">={found.group(1)}")
    return SpecifierSet()


def next_version(text: str) -> str:
    """0.34 for 0.33, 2.30.8 for 2.30.7: the first version that "to 0.33" leaves out."""
    parts = [int(p) for p in text.split(".")]
    parts[-1] += 1
    return ".".join(map(str, parts))


_NAMES_A_VERSION = re.compile(
    r"(?:\b(?:from|before|since|until|to|than|in|of|and|or|only|vLLM|Ray|NCCL|torch|PyTorch) |[<>]=? ?)v?\d+\.\d+"
    r"|\bolder\b|\bold\b"
)


def problem(mention: Mention, place: Place) -> str | None:
    """Why this name should not be offered in this place, or nothing."""
    if mention.kind == "program":
        return None if mention.name in programs() else f"unknown program {mention.name}"
    whole = [Mention(mention.kind, mention.name, mention.program)]
    if not any(_having(one) for one in whole):
        whole = [Mention(mention.kind, s, mention.program) for s in spellings(mention)]
    for one in whole:
        found = _having(one)
        if not found:
            return f"{one.kind} {one.name}{' of ' + one.program if one.program else ''} is in no list"
        product, having = found
        if product not in VERSIONED:
            continue
        known = name_lists()[product]
        inside = claimed(product, place.claim)
        offered = [v for v in known.versions if inside.contains(v)]
        if product in place.versions:
            offered = [v for v in offered if SpecifierSet(place.versions[product]).contains(v)]
        lacking = [v for v in offered if v not in having]
        if not offered or not lacking or one.name in taken_away(place.command):
            continue
        if one.kind == "option" and not one.program and _of_another(one.name, product, place.claim):
            continue
        ranged = product in place.versions or not _NAMES_A_VERSION.search(place.text + " " + place.command)
        ranged = ranged and not presupposed(one.name, place.text)
        if offered[-1] in lacking or (ranged and place.part not in ("summary", "impact")):
            return f"{one.kind} {one.name} is not in {product} {', '.join(lacking)}"
    return None


def _of_another(name: str, product: str, claim: str) -> bool:
    """Whether words that are not about this product name an option that another program has (``--device`` of Docker)."""
    about = "vllm" in claim.lower() if product == "vllm" else product in claim.lower()
    others = (Mention("option", name, p) for p in programs() if p.startswith(("docker", "kubectl")))
    return not about and claim != "all" and any(_having(other) for other in others)


def presupposed(name: str, text: str) -> bool:
    """Whether the words are for those who gave the option ("lower --swap-space"), so that their version has it."""
    return (
        re.search(rf"\b(?:[Ll]ower|[Dd]rop|[Rr]emove|[Uu]nset|[Ll]eave out|[Ww]ithout)\b[^.;:]*{re.escape(name)}", text)
        is not None
    )


def taken_away(command: str) -> set[str]:
    """Variables that the command unsets: that does no harm where nothing reads them any more."""
    found = {name for names in re.findall(r"\bunset ([\w ]+)", command) for name in names.split()}
    return found | set(re.findall(r"\benv (?:-u \w+ )*-u (\w+)", command)) | set(re.findall(r"-u (\w+)", command))


def _having(mention: Mention) -> tuple[str, frozenset[str]] | None:
    """The first list that has the name, and its versions that do. Words do not tell which subcommand an option belongs to,
    so every one of the list counts."""
    owner, versions = "", frozenset[str]()
    for product, group, name in lookups(mention):
        if owner in ("", product) and name in name_lists()[product].groups.get(group, {}):
            owner, versions = product, versions | name_lists()[product].having(group, name)
            if mention.program:
                break
    return (owner, versions) if owner else None


def newest(product: str) -> str:
    return max(name_lists()[product].versions, key=Version)
