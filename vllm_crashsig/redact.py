"""Masks secrets in quotes from a log."""

from __future__ import annotations

import re

MASK = "[masked]"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # Tokens with a recognisable shape: Hugging Face, OpenAI-like, GitHub, Slack, AWS key ids, Google, JWT, NVIDIA NGC
    (re.compile(r"\b(?:hf_|api_org_)[A-Za-z0-9]{16,}"), MASK),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"), MASK),
    (re.compile(r"\bxox[abeoprs]-[\w-]{10,}"), MASK),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (re.compile(r"\bAIza[\w-]{30,}"), MASK),
    (re.compile(r"\bnvapi-[\w-]{20,}"), MASK),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), MASK),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*"), MASK),
    # Credentials in headers, URLs, arguments, environment and reprs
    (re.compile(r"(?i)(\b(?:bearer|basic|token)\s+)(?!is\b|was\b|for\b|has\b|to\b)[A-Za-z0-9._~+/=-]{12,}"), rf"\g<1>{MASK}"),
    (re.compile(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?)(?!bearer|basic|token)[^\s'\",;}]+"), rf"\g<1>{MASK}"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/@:'\"]*:)[^\s/@'\"]+(?=@)", re.IGNORECASE), rf"\g<1>{MASK}"),
    (
        re.compile(
            r"(?i)((?:--|\b)[\w-]*(?:api[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|passw(?:or)?d|passwd|access[_-]?token|hf[_-]?token"
            r"|auth[_-]?token|private[_-]?key|client[_-]?secret|aws[_-]?session[_-]?token|hub[_-]?token)"
            r"['\"]?(?:\s*[=:]\s*|\s+(?=[\w\"'-]*[\d\"']))(?:\[\s*)?['\"]?)(?!None\b|null\b|True\b|False\b|\[masked\]|\{|\*)"
            r"[^\s'\",;)\]}]{3,}"
        ),
        rf"\g<1>{MASK}",
    ),
    (
        re.compile(
            r"(?i)([?&](?:token|key|sig|signature|x-amz-(?:signature|credential|security-token)|access_token)=)[^&\s'\"]+"
        ),
        rf"\g<1>{MASK}",
    ),
)


def redact(text: str) -> str:
    """The text with tokens, bearer headers and passwords in URLs and arguments replaced by ``[masked]``."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
