"""Which parts of a line quote what somebody else wrote: prompts, answers, names, the query of a URL.

Such text is data. It may hold the words of any crash, so what begins inside it is evidence for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .lazy import lazy

_KEYS = (
    "prompt", "prompts", "messages", "content", "text", "input", "inputs", "input_value", "input_text", "query", "question",
    "documents", "document", "instructions", "output", "outputs", "output_text", "completion", "generated_text",
    "Generated text", "answer", "response", "reasoning_content", "arguments", "tool_call", "tool_calls", "user", "suffix",
    "stop", "body", "model", "models", "model_name", "served_model_name", "lora_name", "lora_path", "adapter", "name", "title",
    "filename", "image_url", "url",
)  # fmt: skip
"""Names under which requests, answers and names chosen by users are quoted: the fields of the OpenAI API
(vllm/entrypoints/openai/protocol), of vLLM's request log (vllm/entrypoints/logger.py) and of pydantic's errors."""

_QUOTES = lazy(
    r"(?<![A-Za-z])(?:" + "|".join(map(re.escape, _KEYS)) + r""")\\?['"]?\ ?[:=]?\ ?(?:\[\ ?)?b?(?P<quote>\\*['"])"""
    r"""|"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\ [^"\ ?%]*[?%]"""
    r"""|HTTP/\d(?:\.\d)?"\ \d{3}\ (?:\d+|-)\ (?="(?P<rest>))"""
)


def quoted_parts(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each quotation in a line, from its opening mark on. One that is not closed ends with the line."""
    at = 0
    while (match := _QUOTES.search(text, at)) is not None:
        if match["rest"] is not None:  # nginx's and Apache's combined format: then come referrer and user agent
            yield match.end(), len(text)
            return
        quote = match["quote"] or '"'
        end = _closing(text, quote, match.end())
        yield match.start("quote") if match["quote"] else match.end(), end
        at = end + len(quote)


def _closing(text: str, quote: str, start: int) -> int:
    """Where the quotation mark stands again with just as many backslashes before it, else the end of the text."""
    mark, escapes = quote[-1], len(quote) - 1
    at = text.find(mark, start)
    while at >= 0:
        before = at
        while before > start and text[before - 1] == "\\":
            before -= 1
        if at - before == escapes or (escapes == 0 and (at - before) % 2 == 0):
            return before if escapes else at
        at = text.find(mark, at + 1)
    return len(text)
