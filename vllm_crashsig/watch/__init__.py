"""Watching logs while they are written: what `vllm-crashsig watch` is made of."""

from .loop import Wanted, Watcher

__all__ = ["Wanted", "Watcher"]
