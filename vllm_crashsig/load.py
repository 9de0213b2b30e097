"""YAML files -> one `Catalogue`. Every mistake is reported with its file, line and key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml
from pydantic import ValidationError

from .catalogue import Catalogue, resolve_ref
from .errors import CatalogueError, CatalogueErrors, Location
from .nouns import dataclass
from .places import builtin_directory
from .schema import Condition, Fingerprint, TaxonomyEntry

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TAXONOMY_FILE = "taxonomy.yaml"
MAX_NODES = 50_000
"""Values in one file. Ours hold up to a thousand; nested aliases can stand for billions."""


def catalogue_files(directories: Iterable[Path]) -> list[tuple[Path, list[Path]]]:
    """The YAML files of each directory, in a stable order.

    Raises CatalogueError when a directory does not exist or holds no fingerprint.
    """
    found = []
    for directory in directories:
        if not directory.is_dir():
            raise CatalogueError("no such directory; give a folder that holds <area>/<id>.yaml files", Location(str(directory)))
        files = sorted(
            p
            for p in directory.rglob("*.y*ml")
            if p.suffix in (".yaml", ".yml") and p.is_file() and not _is_hidden(p.relative_to(directory))
        )
        if not any(p.name != TAXONOMY_FILE for p in files):
            raise CatalogueError("holds no fingerprint; expected <area>/<id>.yaml files", Location(str(directory)))
        found.append((directory, files))
    return found


def _is_hidden(path: Path) -> bool:
    """Whether a name in it begins with a dot: an editor's own files, or those behind the links of a mounted ConfigMap."""
    return any(part.startswith(".") for part in path.parts)


def read_files(files: Iterable[tuple[Path, list[Path]]]) -> tuple[list[tuple[int, Path, Path, bytes]], str]:
    """The bytes of all files as (layer, directory, path, content), and the catalogue's hash.

    Raises CatalogueError when a file cannot be read.
    """
    digest = hashlib.sha256()
    contents = []
    for layer, (directory, paths) in enumerate(files):
        for path in paths:
            try:
                content = path.read_bytes()
            except OSError as error:
                raise CatalogueError(f"cannot be read: {error.strerror or error}", Location(str(path))) from error
            relative = path.relative_to(directory).as_posix()
            digest.update(f"{layer}\0{relative}\0{len(content)}\0".encode())
            digest.update(content)
            contents.append((layer, directory, path, content))
    return contents, digest.hexdigest()


def load_catalogue(
    *directories: str | Path, builtin: bool = True, errors: Literal["raise", "collect"] = "raise",
    collected: list[CatalogueError] | None = None,
) -> Catalogue:  # fmt: skip
    """Read fingerprints from the built-in catalogue and from ``directories``.

    A later directory adds fingerprints or replaces those of the same id. Each file holds one fingerprint and is called
    ``<id>.yaml``; its folder is its area.

    errors: ``raise`` raises ``CatalogueErrors`` with all mistakes; ``collect`` leaves broken fingerprints out and
        appends the mistakes to ``collected``.
    """
    folders = [Path(builtin_directory())] if builtin else []
    folders += [Path(d) for d in directories]
    contents, digest = read_files(catalogue_files(folders))
    return build_catalogue(contents, digest, errors=errors, collected=collected)


def build_catalogue(
    contents: Iterable[tuple[int, Path, Path, bytes]], digest: str, *,
    errors: Literal["raise", "collect"] = "raise", collected: list[CatalogueError] | None = None,
) -> Catalogue:  # fmt: skip
    """Parse and check what `read_files` returned. Errors as in `load_catalogue`."""
    mistakes: list[CatalogueError] = []
    fingerprints: dict[str, _Read] = {}
    areas: dict[str, str] = {}
    taxonomy: dict[str, TaxonomyEntry] = {}
    for layer, directory, path, content in contents:
        try:
            if path.name == TAXONOMY_FILE and path.parent == directory:
                taxonomy.update(_parse_taxonomy(path, content))
                continue
            read = _read(layer, path, content)
            fingerprint = read.fingerprint
            if fingerprint.id != path.stem:
                raise CatalogueError(
                    f"id is {fingerprint.id!r} but the file is called {path.name}; name it {fingerprint.id}.yaml", read.at("id")
                )
            before = fingerprints.get(fingerprint.id)
            if before and before.layer == layer:
                raise CatalogueError(f"id {fingerprint.id!r} is already defined in {before.path}", read.at("id"))
            if directory != Path(builtin_directory()):  # lint has seen the built-in patterns, and compiling them takes a second
                _check_patterns(read)
            fingerprints[fingerprint.id] = read
            areas[fingerprint.id] = path.parent.name
        except CatalogueErrors as error:
            mistakes.extend(error.errors)
        except CatalogueError as error:
            mistakes.append(error)
    mistakes.extend(_graph_mistakes(fingerprints))
    if mistakes and errors == "raise":
        raise CatalogueErrors(mistakes)
    if collected is not None:
        collected.extend(mistakes)
    return Catalogue(
        fingerprints=MappingProxyType({i: fingerprints[i].fingerprint for i in sorted(fingerprints)}),
        areas=MappingProxyType(areas),
        taxonomy=MappingProxyType(taxonomy),
        hash=digest,
    )


_Path = tuple[str | int, ...]
_Positions = Mapping[_Path, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Read:
    """A fingerprint with where it and each of its keys stand."""

    layer: int
    path: Path
    fingerprint: Fingerprint
    positions: _Positions

    def at(self, *key: str | int) -> Location:
        known = key
        while known and known not in self.positions:
            known = known[:-1]
        return Location(str(self.path), *self.positions.get(known, (1, 1)), ".".join(map(str, key)))


def _read(layer: int, path: Path, content: bytes) -> _Read:
    data, positions = _parse_yaml(path, content)
    try:
        return _Read(layer, path, Fingerprint.model_validate(data), positions)
    except ValidationError as error:
        raise _located(error, path, positions) from error


def _check_patterns(read: _Read) -> None:
    from .patterns import compile_pattern, foreign

    mistakes = []
    for name, indicator in read.fingerprint.indicators.items():
        try:
            compile_pattern(indicator.pattern, indicator.ignore_case)
            if found := foreign().search(indicator.pattern):
                raise CatalogueError(f"pattern uses {found.group(0)!r}, which only one engine knows; write it another way")
        except CatalogueError as error:
            mistakes.append(CatalogueError(error.message, read.at("indicators", name, "pattern")))
    if mistakes:
        raise CatalogueErrors(mistakes)


def _parse_taxonomy(path: Path, content: bytes) -> dict[str, TaxonomyEntry]:
    data, positions = _parse_yaml(path, content)
    entries: dict[str, TaxonomyEntry] = {}
    mistakes: list[CatalogueError] = []
    for area, ids in data.items() if isinstance(data, dict) else ():
        for cause, entry in ids.items() if isinstance(ids, dict) else ():
            try:
                entries[cause] = TaxonomyEntry.model_validate(entry)
            except ValidationError as error:
                mistakes.extend(_located(error, path, positions, (area, cause)).errors)
    if mistakes:
        raise CatalogueErrors(mistakes)
    return entries


def _parse_yaml(path: Path, content: bytes) -> tuple[Any, _Positions]:
    """The plain data of a YAML file, and line and column of each node by its path of keys."""
    loader = None
    try:
        loader = _LOADER(content)
        node = loader.get_single_node()
        positions: dict[_Path, tuple[int, int]] = {}
        if node is None:
            raise CatalogueError("is empty; expected a fingerprint", Location(str(path), 1, 1))
        data = _construct(loader, node, (), positions, path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Location(str(path), mark.line + 1 if mark else None, mark.column + 1 if mark else None)
        raise CatalogueError(f"not valid YAML: {error.problem or error.context}", where) from error
    except yaml.YAMLError as error:
        raise CatalogueError(f"not valid YAML: {str(error).splitlines()[0]}", Location(str(path))) from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CatalogueError(f"not valid YAML: {error}", Location(str(path))) from error
    finally:
        if loader is not None:
            loader.dispose()
    return data, positions


def _construct(loader: Any, node: Any, at: _Path, positions: dict[_Path, tuple[int, int]], path: Path) -> Any:
    positions[at] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if len(positions) > MAX_NODES:
        raise CatalogueError(
            f"holds more than {MAX_NODES} values (aliases repeat them); a fingerprint has some hundreds", Location(str(path))
        )
    if isinstance(node, yaml.MappingNode):
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            key_at = Location(
                str(path), key_node.start_mark.line + 1, key_node.start_mark.column + 1, ".".join(map(str, (*at, key)))
            )
            if not isinstance(key, str | int):
                raise CatalogueError(f"key {key!r} must be text", key_at)
            if key in mapping:
                raise CatalogueError(f"key {key!r} is given twice; remove one", key_at)
            mapping[key] = _construct(loader, value_node, (*at, key), positions, path)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_construct(loader, item, (*at, i), positions, path) for i, item in enumerate(node.value)]
    return loader.construct_object(node, deep=True)


def _located(error: ValidationError, path: Path, positions: _Positions, prefix: _Path = ()) -> CatalogueErrors:
    mistakes = []
    for detail in error.errors(include_url=False):
        loc = (*prefix, *detail["loc"])
        known = loc
        while known and known not in positions:
            known = known[:-1]
        line, column = positions.get(known, (1, 1))
        message = detail["msg"]
        if detail["type"] == "extra_forbidden":
            message = "unknown key; check its spelling against `vllm-crashsig catalogue schema`"
        elif detail["type"] == "missing":
            message = "this key is required"
        mistakes.append(CatalogueError(message, Location(str(path), line, column, ".".join(map(str, loc)) or None)))
    return CatalogueErrors(mistakes)


def _graph_mistakes(found: Mapping[str, _Read]) -> Iterator[CatalogueError]:
    """References to fingerprints or indicators that do not exist, and cycles of `explains`."""
    for read in found.values():
        fingerprint = read.fingerprint
        for position, target in enumerate(fingerprint.explains):
            if target not in found:
                yield CatalogueError(f"explains unknown fingerprint {target!r}", read.at("explains", position))
        conditions: list[tuple[_Path, Condition]] = [(("when",), fingerprint.when)] if fingerprint.when else []
        conditions += [(("unless", i), u) for i, u in enumerate(fingerprint.unless)]
        for key, condition in conditions:
            for ref in condition.refs():
                owner, indicator = resolve_ref(ref, fingerprint.id, fingerprint.indicators)
                known = found.get(owner)
                if known is None or (indicator and indicator not in known.fingerprint.indicators):
                    yield CatalogueError(f"refers to unknown indicator {ref!r}", read.at(*key))
    done: set[str] = set()
    for start in found:
        trail: list[str] = []

        def visit(fingerprint_id: str, trail: list[str] = trail) -> list[str] | None:
            if fingerprint_id in trail:
                return [*trail[trail.index(fingerprint_id) :], fingerprint_id]
            if fingerprint_id in done or fingerprint_id not in found:
                return None
            trail.append(fingerprint_id)
            for target in found[fingerprint_id].fingerprint.explains:
                if cycle := visit(target):
                    return cycle
            trail.pop()
            done.add(fingerprint_id)
            return None

        if cycle := visit(start):
            done.update(cycle)
            yield CatalogueError(f"explains goes in a circle: {' -> '.join(cycle)}", found[cycle[0]].at("explains"))
