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

_NAMED = ("key", "secret", "passw", "passphrase", "token")
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    # Tokens with a recognisable shape: Hugging Face, OpenAI-like, GitHub, Slack, AWS key ids, Google, JWT, NVIDIA NGC
    (("hf_", "api_org_"), lazy(r"\b(?:hf_|api_org_)[A-Za-z0-9]{16,}"), MASK),
    (("sk-",), lazy(r"\bsk-[A-Za-z0-9_-]{16,}"), MASK),
    (("gh", "github_pat_", "glpat-"), lazy(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"), MASK),
    (("xox",), lazy(r"\bxox[abeoprs]-[\w-]{10,}"), MASK),
    (("akia", "asia"), lazy(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (("aiza",), lazy(r"\bAIza[\w-]{30,}"), MASK),
    (("nvapi-",), lazy(r"\bnvapi-[\w-]{20,}"), MASK),
    (("eyj",), lazy(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), MASK),
    (
        ("gsk_", "npm_", "pypi-", "dckr_pat_", "k_live_", "k_test_", "hvs.", "sg.", "dop_v1_", "r8_", "ya29."),
        lazy(
            r"\b(?:gsk_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dckr_pat_[\w-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"
            r"|hvs\.[\w-]{16,}|SG\.[\w-]{12,}\.[\w-]{12,}|dop_v1_[a-f0-9]{20,}|r8_[A-Za-z0-9]{20,}|ya29\.[\w-]{16,})"
        ),
        MASK,
    ),
    (
        ("https://",),
        lazy(r"(\bhttps://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)[^\s'\"]+"),
        rf"\g<1>{MASK}",
    ),
    (("private key-----",), lazy(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*"), MASK),
    # Credentials in headers and URLs
    (("bearer", "basic", "token"), lazy(rf"(\b(?i:bearer|basic|token)\s+){_RANDOM}[A-Za-z0-9._~+/=-]{{12,}}"), rf"\g<1>{MASK}"),
    (
        ("authorization",),
        lazy(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?)(?!bearer|basic|token|digest)[^\s'\",;}]+"),
        rf"\g<1>{MASK}",
    ),
    (("authorization",), lazy(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?digest\s+).+"), rf"\g<1>{MASK}"),
    (("cookie",), lazy(r"(?i)(\b(?:set-)?cookie['\"]?\s*:\s*['\"]?)[^'\"]{4,}"), rf"\g<1>{MASK}"),
    (("curl",), lazy(r"(\bcurl\b.{0,200}?\s(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,60}:)[^\s'\"]+"), rf"\g<1>{MASK}"),
    (("://",), lazy(r"(?i)(\b[a-z][a-z0-9+.-]{0,20}://[^\s/@:'\"]*:)[^\s/@'\"]+(?=@)"), rf"\g<1>{MASK}"),
    (
        ("?", "&"),
        lazy(r"(?i)([?&](?:token|key|sig|signature|x-amz-(?:signature|credential|security-token)|access_token)=)[^&\s'\"]+"),
        rf"\g<1>{MASK}",
    ),
    # and in arguments, lists, assignments, reprs and the environment
    (_NAMED, lazy(rf"(?i)(--[\w-]{{0,40}}?{_NAME}s?(?:=|['\"]?,?\s+){_PROSE}['\"]?){_VALUE}"), rf"\g<1>{MASK}"),
    (_NAMED, lazy(rf"(?i)({_NAME}s?['\"]?\s*[=:]\s*)\[(?!masked\]|None\])[^\]]+\]"), rf"\g<1>{MASK}"),
    (
        _NAMED,
        lazy(rf"(?i)(?<![\w-])(?!--)([\w-]{{0,60}}?{_NAME}s?(?:['\"]?\s*[=:]\s*['\"]?|\s+['\"])){_VALUE}"),
        rf"\g<1>{MASK}",
    ),
    (
        ("token", "secret", "passw"),
        lazy(rf"\b([A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD)[A-Z0-9_]*=['\"]?)(?!\d+\b){_VALUE}"),
        rf"\g<1>{MASK}",
    ),
    (
        ("_pass", "_auth", "access_key", "ssh_key"),
        lazy(rf"\b([A-Z0-9_]*(?:_PASS|_AUTH|ACCESS_KEY|SSH_KEY)=['\"]?){_VALUE}"),
        rf"\g<1>{MASK}",
    ),
    (("accountkey", "token", "bearer"), lazy(rf"\b((?:AccountKey|token|bearer)=['\"]?){_RANDOM}{_VALUE}"), rf"\g<1>{MASK}"),
    (_NAMED, lazy(rf"(?i)(['\"]--[\w-]{{0,40}}?{_NAME}s?['\"]\s*,\s*['\"]){_VALUE}"), rf"\g<1>{MASK}"),
    (("token",), lazy(r"(?i)(['\"]token['\"]\s*:\s*['\"])[\w.~+/=-]{20,}"), rf"\g<1>{MASK}"),
)
"""In lower case, words of which a text must hold one; what is masked in it; and what takes its place."""


def redact(text: str) -> str:
    """The text with tokens, bearer headers and passwords in URLs and arguments replaced by ``[masked]``."""
    lower = text.lower()
    for words, pattern, replacement in _RULES:
        for word in words:
            if word in lower:
                text = pattern.sub(replacement, text)
                break
    return text
