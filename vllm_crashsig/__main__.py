"""``vllm-crashsig``, and ``python -m vllm_crashsig``."""

from __future__ import annotations


def entry() -> None:
    """The command. Whoever interrupts it while it is still loading gets no traceback either."""
    try:
        from .cli import entry as command
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # 128 and the signal's number, as shells have it and `cli.EXIT_INTERRUPTED`
    command()


if __name__ == "__main__":
    entry()
