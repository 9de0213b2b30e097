"""fingerprints/README.md is what `vllm-crashsig catalogue docs` makes of the files beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from corpus import FINGERPRINTS, catalogue

from vllm_crashsig import cli
from vllm_crashsig.commands.common import EXIT_ERROR
from vllm_crashsig.load import catalogue_files
from vllm_crashsig.outputs.catalogue_docs import render_catalogue_docs

PAGE = FINGERPRINTS / "README.md"
CELL = re.compile(r"(?<!\\)\|")


def test_the_page_is_up_to_date() -> None:
    fresh = render_catalogue_docs(catalogue())
    assert PAGE.read_text(encoding="utf-8") == fresh, "run vllm-crashsig catalogue docs --output fingerprints/README.md"


def test_every_fingerprint_has_its_row_and_its_file() -> None:
    links = re.findall(r"\]\(([^)]+\.yaml)\)", render_catalogue_docs(catalogue()))
    assert sorted(Path(link).stem for link in links) == sorted(catalogue().fingerprints)
    assert [link for link in links if not (FINGERPRINTS / link).is_file()] == []


def test_no_cell_breaks_its_table() -> None:
    widths = 0
    for line in render_catalogue_docs(catalogue()).splitlines():
        if line.startswith("|---"):
            widths = line.count("|")
        elif line.startswith("| ["):
            assert len(CELL.findall(line)) == widths, line
        assert "\t" not in line
        assert line.isprintable()


def test_the_loader_leaves_the_page_alone() -> None:
    assert PAGE.is_file()
    assert PAGE not in [path for _, paths in catalogue_files([FINGERPRINTS]) for path in paths]


def test_the_command_prints_and_writes_it(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    fresh = render_catalogue_docs(catalogue()).encode()
    assert cli.run(["catalogue", "docs"]) == 0
    assert capfdbinary.readouterr().out == fresh
    assert cli.run(["catalogue", "docs", "--output", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_bytes() == fresh
    assert cli.run(["catalogue", "docs", "--output", str(tmp_path / "none" / "page.md")]) == EXIT_ERROR
    assert b"cannot write" in capfdbinary.readouterr().err
