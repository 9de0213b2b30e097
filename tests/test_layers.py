"""Imports go strictly downward, heavy libraries stay in one module each, and no module grows too long."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "vllm_crashsig"

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"nouns", "places", "plain", "version"}),
    frozenset({"cache", "shapes"}),
    frozenset({"kept"}),
    frozenset({"lazy"}),
    frozenset({"encodings", "errors", "model", "schema", "framing", "quoted", "redact", "literals"}),
    frozenset({"envelopes", "facts", "patterns", "report", "sources"}),
    frozenset({"catalogue", "crashid", "gate", "names", "processes", "nested", "records", "remediation", "schemas"}),
    frozenset({"documents", "following", "index", "load", "outputs", "ranks", "record_frame"}),
    frozenset({"lint", "match", "stored"}),
    frozenset({"candidates", "correlate", "job", "pace", "prepare", "unwrap"}),
    frozenset({"collectives", "conditions", "clocks", "layout"}),
    frozenset({"incidents", "scan"}),
    frozenset({"survival"}),
    frozenset({"hypotheses", "silence"}),
    frozenset({"chain", "confidence", "culprit"}),
    frozenset({"rank", "settle"}),
    frozenset({"answer"}),
    frozenset({"engine"}),
    frozenset({"intake"}),
    frozenset({"api"}),
    frozenset({"batch", "watch"}),
    frozenset({"commands"}),
    frozenset({"cli"}),
    frozenset({"__main__", "__init__"}),
)
"""A module may import from layers above its own in this table only. A package counts as one module here."""

INNER: dict[str, tuple[frozenset[str], ...]] = {
    "batch": (
        frozenset({"cases", "row", "summary"}),
        frozenset({"journal", "schedule", "tables", "work", "writers"}),
        frozenset({"attendant", "progress", "worker"}),
        frozenset({"pool"}),
        frozenset({"ray_engine"}),
        frozenset({"run"}),
        frozenset({"api", "command"}),
        frozenset({"__init__"}),
    ),
    "envelopes": (
        frozenset({"base", "clean"}),
        frozenset(
            {
                "docker",
                "generic",
                "json_failures",
                "json_values",
                "kernel",
                "kubernetes",
                "labels",
                "nccl",
                "pastes",
                "ray",
                "services",
                "torch",
            }
        ),
        frozenset({"exports", "journal", "json_line", "vllm"}),
        frozenset({"dispatch", "json_document"}),
        frozenset({"__init__"}),
    ),
    "records": (
        frozenset({"base"}),
        frozenset({"journal", "octets", "pretty", "rows"}),
        frozenset({"__init__"}),
    ),
    "crashid": (
        frozenset({"lists"}),
        frozenset({"masks", "shapes"}),
        frozenset({"frames", "told"}),
        frozenset({"chains", "fold", "foreign", "kernel", "native"}),
        frozenset({"python"}),
        frozenset({"collector"}),
        frozenset({"__init__"}),
    ),
    "sources": (
        frozenset({"base", "kinds"}),
        frozenset({"archives", "libraries", "remote"}),
        frozenset({"compression"}),
        frozenset({"tar", "zip"}),
        frozenset({"opening"}),
        frozenset({"paths"}),
        frozenset({"__init__"}),
    ),
    "documents": (
        frozenset({"kinds", "outline"}),
        frozenset({"about"}),
        frozenset({"describe", "listings", "objects"}),
        frozenset({"reading"}),
        frozenset({"__init__"}),
    ),
    "commands": (
        frozenset({"common"}),
        frozenset({"catalogue", "watch"}),
        frozenset({"__init__"}),
    ),
    "watch": (
        frozenset({"follow", "notify", "streams"}),
        frozenset({"cases", "places"}),
        frozenset({"loop"}),
        frozenset({"__init__"}),
    ),
    "outputs": (
        frozenset({"escape"}),
        frozenset({"words", "card", "catalogue_docs"}),
        frozenset({"markdown", "text"}),
        frozenset({"__init__"}),
        frozenset({"live"}),
    ),
}
"""The same inside each package."""

HOMES = {"regex": {"patterns"}, "hyperscan": {"gate"}, "click": {"cli", "commands"}, "yaml": {"load"}}
"""Libraries that only these modules may import."""

MAX_LINES = 400


def modules() -> dict[tuple[str, ...], Path]:
    """Every module by its dotted parts inside the package."""
    return {p.relative_to(PACKAGE).with_suffix("").parts: p for p in sorted(PACKAGE.rglob("*.py"))}


def imports(parts: tuple[str, ...], path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """What a module imports: parts of modules of this package, and names of other libraries as one part after ``..``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ("..", alias.name.partition(".")[0]), node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield ("..", (node.module or "").partition(".")[0]), node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = (*parts[: len(parts) - node.level], *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                deeper = (*base, alias.name)
                yield (
                    (deeper if deeper in modules() or (*deeper, "__init__") in modules() else base or ("__init__",)),
                    node.lineno,
                )


def layer_of(name: str, table: tuple[frozenset[str], ...]) -> int:
    return next(i for i, names in enumerate(table) if name in names)


def test_every_module_has_a_layer() -> None:
    assert {parts[0] for parts in modules()} == set().union(*LAYERS)
    for package, table in INNER.items():
        assert {parts[1] for parts in modules() if parts[0] == package} == set().union(*table)


@pytest.mark.parametrize(("parts", "path"), modules().items(), ids=[".".join(p) for p in modules()])
def test_imports_go_downward(parts: tuple[str, ...], path: Path) -> None:
    for target, line in imports(parts, path):
        where = f"{path}:{line} imports {'.'.join(target)}"
        if target[0] == "..":
            assert target[1] != "vllm_crashsig", f"{where}: relative imports only"
            home = HOMES.get(target[1])
            assert home is None or parts[0] in home, f"{where}: only {home} may"
        elif target[0] != parts[0]:
            assert layer_of(target[0], LAYERS) < layer_of(parts[0], LAYERS), where
        elif len(parts) > 1:
            inner = target[1] if len(target) > 1 else "__init__"
            table = INNER[parts[0]]
            assert inner == parts[1] or layer_of(inner, table) < layer_of(parts[1], table), where


def test_modules_stay_short() -> None:
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in modules().values()}
    assert not {str(p): n for p, n in lengths.items() if n > MAX_LINES}
    assert sorted(lengths.values())[len(lengths) // 2] < MAX_LINES // 2, "the median module stays under half of that"


def loaded_by(code: str) -> set[str]:
    """Names of the top-level modules that are loaded after some code ran in a new interpreter."""
    script = f"import sys\n{code}\nprint('\\n' + ' '.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    return {name.partition(".")[0] for name in done.stdout.rsplit("\n", 2)[-2].split()}


def test_import_is_cheap() -> None:
    assert not loaded_by("import vllm_crashsig") & {"pydantic", "pydantic_core", "regex", "hyperscan", "yaml", "click"}


@pytest.mark.parametrize("option", ["--help", "--version", "-h"])
def test_help_is_cheap(option: str) -> None:
    loaded = loaded_by(f"from vllm_crashsig.cli import run\nassert run([{option!r}]) == 0")
    assert not loaded & {"pydantic", "pydantic_core", "regex", "hyperscan", "yaml", "platformdirs"}


def test_all_public_names_exist() -> None:
    import vllm_crashsig

    for name in vllm_crashsig.__all__:
        assert getattr(vllm_crashsig, name) is not None
        assert name in dir(vllm_crashsig)
    with pytest.raises(AttributeError):
        vllm_crashsig.no_such_name  # noqa: B018
