"""JSON Schemas of what others write (fingerprints) and read (reports).

They also ship as files, for editors and other languages: ``schema_files/<what>.schema.json``, made by
``vllm-crashsig catalogue schema <what>``; a test fails when they are stale.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from .report import Report
from .schema import Fingerprint

MODELS: dict[str, type[BaseModel]] = {"fingerprint": Fingerprint, "report": Report}


def schema_text(what: str) -> str:
    """The JSON Schema (2020-12) of ``fingerprint`` or ``report``, as it stands in ``schema_files/<what>.schema.json``."""
    model = MODELS[what]
    mode: Any = "validation" if what == "fingerprint" else "serialization"
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True, mode=mode),
    }
    return json.dumps(schema, indent=2) + "\n"
