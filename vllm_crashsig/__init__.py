"""Root causes of vLLM crashes from logs: what killed it, how sure we are and from which lines, and what to do now.

from vllm_crashsig import classify_paths
report = classify_paths(["vllm.log", "dmesg.txt"])
print(report.verdict, report.cause and report.cause.id)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .api import classify, classify_paths
    from .batch.api import classify_cases
    from .batch.row import CaseResult
    from .catalogue import Catalogue
    from .engine import Classifier, Session
    from .errors import CatalogueError, CatalogueErrors, CrashsigError, InputError, OptionError
    from .load import load_catalogue
    from .report import Classification, Report, Update

_HOMES = {
    "classify": "api", "classify_cases": "batch.api", "classify_paths": "api", "CaseResult": "batch.row",
    "Catalogue": "catalogue", "load_catalogue": "load", "Classifier": "engine", "Session": "engine",
    "CatalogueError": "errors", "CatalogueErrors": "errors", "CrashsigError": "errors", "InputError": "errors",
    "OptionError": "errors", "Classification": "report", "Report": "report", "Update": "report",
}  # fmt: skip

__all__ = [
    "CaseResult", "Catalogue", "CatalogueError", "CatalogueErrors", "Classification", "Classifier", "CrashsigError",
    "InputError", "OptionError", "Report", "Session", "Update", "__version__", "classify", "classify_cases",
    "classify_paths", "load_catalogue",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loads each name when it is first used, so that ``import vllm_crashsig`` and ``--help`` stay cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
