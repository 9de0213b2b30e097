"""``python -m vllm_crashsig``."""

from .cli import entry

entry()
