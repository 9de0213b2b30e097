"""Masks secrets in quotes from a log."""

from __future__ import annotations

import re

from .lazy import lazy

MASK = "[masked]"

_NAME = (
    r"(?:api[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|passw(?:or)?d|passphrase|(?:access|auth|hf|hub|session|refresh)[_-]?token"
    r"|private[_-]?key)"
)
_VALUE = r"(?!(?:None|null|True|False|str|Optional)\b|\[masked\]|[{*<])[^\s'\",;)\]}]{3,}"
_PROSE = (
    r"(?!(?:is|are|was|to|or|and|for|from|with|must|not|has|can|if|in|on|as|when|should|option|argument|flag|requires?)\b|-)"
)
"""What follows the name of an option in a sentence about it."""
_RANDOM = r"(?=\S*\d|\S*[a-z]\S*[A-Z])"
"""Tells a credential from an ordinary long word."""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # Tokens with a recognisable shape: Hugging Face, OpenAI-like, GitHub, Slack, AWS key ids, Google, JWT, NVIDIA NGC
    (lazy(r"\b(?:hf_|api_org_)[A-Za-z0-9]{16,}"), MASK),
    (lazy(r"\bsk-[A-Za-z0-9_-]{16,}"), MASK),
    (lazy(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"), MASK),
    (lazy(r"\bxox[abeoprs]-[\w-]{10,}"), MASK),
    (lazy(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (lazy(r"\bAIza[\w-]{30,}"), MASK),
    (lazy(r"\bnvapi-[\w-]{20,}"), MASK),
    (lazy(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), MASK),
    (
        lazy(
            r"\b(?:gsk_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dckr_pat_[\w-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"
            r"|hvs\.[\w-]{16,}|SG\.[\w-]{12,}\.[\w-]{12,}|dop_v1_[a-f0-9]{20,}|r8_[A-Za-z0-9]{20,}|ya29\.[\w-]{16,})"
        ),
        MASK,
    ),
    (lazy(r"(\bhttps://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)[^\s'\"]+"), rf"\g<1>{MASK}"),
    (lazy(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*"), MASK),
    # Credentials in headers and URLs
    (lazy(rf"(\b(?i:bearer|basic|token)\s+){_RANDOM}[A-Za-z0-9._~+/=-]{{12,}}"), rf"\g<1>{MASK}"),
    (lazy(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?)(?!bearer|basic|token|digest)[^\s'\",;}]+"), rf"\g<1>{MASK}"),
    (lazy(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?digest\s+).+"), rf"\g<1>{MASK}"),
    (lazy(r"(?i)(\b(?:set-)?cookie['\"]?\s*:\s*['\"]?)[^'\"]{4,}"), rf"\g<1>{MASK}"),
    (lazy(r"(\bcurl\b.{0,200}?\s(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,60}:)[^\s'\"]+"), rf"\g<1>{MASK}"),
    (lazy(r"(?i)(\b[a-z][a-z0-9+.-]{0,20}://[^\s/@:'\"]*:)[^\s/@'\"]+(?=@)"), rf"\g<1>{MASK}"),
    (
        lazy(r"(?i)([?&](?:token|key|sig|signature|x-amz-(?:signature|credential|security-token)|access_token)=)[^&\s'\"]+"),
        rf"\g<1>{MASK}",
    ),
    # and in arguments, lists, assignments, reprs and the environment
    (lazy(rf"(?i)(--[\w-]{{0,40}}?{_NAME}s?(?:=|['\"]?,?\s+){_PROSE}['\"]?){_VALUE}"), rf"\g<1>{MASK}"),
    (lazy(rf"(?i)({_NAME}s?['\"]?\s*[=:]\s*)\[(?!masked\]|None\])[^\]]+\]"), rf"\g<1>{MASK}"),
    (
        lazy(rf"(?i)(?<![\w-])(?!--)([\w-]{{0,60}}?{_NAME}s?(?:['\"]?\s*[=:]\s*['\"]?|\s+['\"])){_VALUE}"),
        rf"\g<1>{MASK}",
    ),
    (lazy(rf"\b([A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD)[A-Z0-9_]*=['\"]?)(?!\d+\b){_VALUE}"), rf"\g<1>{MASK}"),
    (lazy(rf"\b([A-Z0-9_]*(?:_PASS|_AUTH|ACCESS_KEY|SSH_KEY)=['\"]?){_VALUE}"), rf"\g<1>{MASK}"),
    (lazy(rf"\b((?:AccountKey|token|bearer)=['\"]?){_RANDOM}{_VALUE}"), rf"\g<1>{MASK}"),
    (lazy(rf"(?i)(['\"]--[\w-]{{0,40}}?{_NAME}s?['\"]\s*,\s*['\"]){_VALUE}"), rf"\g<1>{MASK}"),
    (lazy(r"(?i)(['\"]token['\"]\s*:\s*['\"])[\w.~+/=-]{20,}"), rf"\g<1>{MASK}"),
)


def redact(text: str) -> str:
    """The text with tokens, bearer headers and passwords in URLs and arguments replaced by ``[masked]``."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
