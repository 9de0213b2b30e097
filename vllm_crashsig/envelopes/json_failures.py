"""What failed, as JSON logs tell it beside their message: an exception, an error, how a container ended.

Known: python-json-logger and Ray (exc_info, exc_text, stack_trace), structlog and loguru (exception), controller-runtime
(error, err, stacktrace, reason), KubeRay's status of the Ray container, pino and bunyan (err), Elastic Common Schema (error).
Only fields of these names count: others may hold what users wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..lazy import lazy

ERRORS = (
    "exc_info", "exc_text", "stack_trace", "exception", "traceback", "error", "err", "reason", "stack", "stacktrace",
    "error.type", "error.message", "error.stack_trace", "exception.type", "exception.message", "exception.stacktrace",
    "Ray container terminated status",
)  # fmt: skip
"""Fields with the text of a failure, or with an exception as an object."""
ENDED = "terminated"
"""The field of Kubernetes that tells how a container ended; by itself, or in one of `_STATES`."""
_STATES = ("state", "lastState")
_ANY = frozenset((*ERRORS, ENDED, *_STATES))
_PRINTED = lazy(r"\bContainerStateTerminated\{ExitCode:(\d{1,5}),Signal:\d{1,5},Reason:(\w{0,40}),", re.ASCII)
"""The same as Go prints it (k8s.io/api/core/v1 generated.pb.go)."""
_NOTHING = frozenset(("nil", "<nil>", "null", "None", "none"))
_STACKS = ("stack_trace", "stack", "stacktrace", "traceback")
_STATUS = ("status", "status_code", "statusCode", "http.status_code", "http.response.status_code", "response_status")
"""Fields of a web server's record. Behind a status of 4xx stands what a client sent, which may be any text."""
_LONGEST = 64 * 1024
"""Characters that are taken of each."""


def with_failures(text: str, record: Mapping[str, Any]) -> str:
    """The message of a record, and below it what its fields tell of a failure that the message does not."""
    if _ANY.isdisjoint(record) or any(_is_of_client(record.get(key)) for key in _STATUS):
        return text
    for key in ERRORS:
        for told in _told(record.get(key)):
            if told not in text:
                text = f"{text}\n{told}"
    for state in (record, *(record.get(key) for key in _STATES)):
        if isinstance(state, Mapping):
            for told in _of_container(state.get(ENDED)):
                text = f"{text}\n{told}"
    return text


def _is_of_client(status: Any) -> bool:
    return str(status).isdecimal() and 400 <= int(status) < 500


def _told(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if (ended := _PRINTED.search(value)) is not None:
            yield from _of_container({"exitCode": int(ended.group(1)), "reason": ended.group(2)})
        elif value not in _NOTHING and (value := value.strip("\n")):
            yield value[:_LONGEST]
    elif isinstance(value, dict):
        yield from _of_error(value)
        yield from _of_container(value)


def _of_error(error: Mapping[str, Any]) -> Iterator[str]:
    """An exception as an object: with its stack, which begins or ends with the message, or with its type and message."""
    kind, message = (next((v for k in keys if isinstance(v := error.get(k), str) and v), "") for keys in _NAMED)
    stack = next((v for k in _STACKS if isinstance(v := error.get(k), str)), "")
    if message and message not in stack:
        yield f"{kind}: {message}"[:_LONGEST] if kind and not message.startswith(kind) else message[:_LONGEST]
    if stack:
        yield stack[:_LONGEST]


_NAMED = (("type", "name", "class", "kind"), ("message", "msg"))


def _of_container(state: Any) -> Iterator[str]:
    """How a container ended, in the words of kubectl describe."""
    code, reason = (state.get("exitCode"), state.get("reason")) if isinstance(state, dict) else (None, None)
    if isinstance(code, int) and not isinstance(code, bool):
        if isinstance(reason, str) and reason:
            yield f"Reason: {reason}"
        yield f"Exit Code: {code}"
