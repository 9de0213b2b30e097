"""What upstream prints when something fails is known: each message in coverage/messages.yaml is matched by the fingerprint that
it names there, and what coverage/silent.yaml lists says nothing."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

import pytest
from corpus import ROOT, catalogue, classifier, judge_and_gate, read_yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from vllm_crashsig import Report
from vllm_crashsig.scan import SourceScanner

FOLDER = ROOT / "tests" / "coverage"
SHARE = 0.95
CAUSES = ("root", "either", "degraded")
MIN_REASON = 15


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Message(Strict):
    """One message of upstream, with the wordings of its versions."""

    id: str = Field(min_length=1)
    role: Literal["root", "symptom"]
    """``root``: it names a cause. ``symptom``: it follows from one."""
    message: str | None = None
    messages: tuple[str, ...] = Field(default=(), strict=False)
    versions: str = Field(min_length=1)
    source: str = Field(min_length=1)
    claimed_by: str | list[str] | None = None
    """Fingerprint, or fingerprint:indicator; of a list, any."""
    excluded: str | None = Field(default=None, min_length=MIN_REASON)
    """Why it is no evidence of its own. It is matched all the same where ``claimed_by`` is given too."""

    @model_validator(mode="after")
    def _whole(self) -> Message:
        if not self.excluded and not (self.message and self.claimed_by):
            raise ValueError("give message and claimed_by, or a reason in excluded")
        if any("\n" in text for text in self.texts):
            raise ValueError("messages are single lines")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        return (*((self.message,) if self.message else ()), *self.messages)

    @property
    def claims(self) -> tuple[str, ...]:
        if self.claimed_by is None:
            return ()
        return (self.claimed_by,) if isinstance(self.claimed_by, str) else tuple(self.claimed_by)


class Silent(Strict):
    """One message that accuses nobody, though it may look like it."""

    id: str = Field(min_length=1)
    message: str = Field(min_length=1)
    messages: tuple[str, ...] = Field(default=(), strict=False)
    versions: str = Field(min_length=1)
    source: str = Field(min_length=1)
    why: str | None = None


@lru_cache(maxsize=1)
def messages() -> tuple[Message, ...]:
    return tuple(TypeAdapter(list[Message]).validate_python(read_yaml(FOLDER / "messages.yaml")))


@lru_cache(maxsize=1)
def silent() -> tuple[Silent, ...]:
    return tuple(TypeAdapter(list[Silent]).validate_python(read_yaml(FOLDER / "silent.yaml")))


@cache
def hits(line: str) -> frozenset[tuple[str, str, str]]:
    """(fingerprint, indicator, weight) of all that the judge sees on one line, through gate and envelopes."""
    scanner = SourceScanner("line", *judge_and_gate())
    found = [*scanner.feed(line.encode() + b"\n"), *scanner.close()]
    known = catalogue()
    return frozenset(
        (h.fingerprint, h.indicator, known[h.fingerprint].indicators[h.indicator].weight) for one in found for h in one.hits
    )


def claims_it(claim: str, fingerprint: str, indicator: str) -> bool:
    """Whether the hit is of the claimed fingerprint or of a refinement of it (and of the claimed indicator)."""
    owner, _, name = claim.partition(":")
    return (fingerprint == owner or fingerprint.startswith(owner + ".")) and name in ("", indicator)


def is_claimed(entry: Message, text: str) -> bool:
    known = catalogue()
    for fingerprint, indicator, weight in hits(text):
        if not any(claims_it(claim, fingerprint, indicator) for claim in entry.claims):
            continue
        if entry.excluded or (entry.role == "symptom" and weight != "context"):
            return True
        if entry.role == "root" and weight == "decisive" and known[fingerprint].role in CAUSES:
            return True
    return False


def test_ids_are_unique() -> None:
    ids = [m.id for m in messages()] + [s.id for s in silent()]
    assert sorted({i for i in ids if ids.count(i) > 1}) == []


def test_claims_name_what_exists() -> None:
    known = catalogue()
    claims = [(m.id, claim) for m in messages() for claim in m.claims]
    assert [(i, c) for i, c in claims if c.partition(":")[0] not in known] == []
    named = [(i, *c.split(":")) for i, c in claims if ":" in c]
    assert [(i, f, n) for i, f, n in named if n not in known[f].indicators] == []


@pytest.mark.parametrize("entry", [pytest.param(m, id=m.id) for m in messages() if m.claims])
def test_a_message_is_claimed(entry: Message) -> None:
    missed = [text for text in entry.texts if not is_claimed(entry, text)]
    assert missed == [], f"not claimed by {' or '.join(entry.claims)}: {[sorted(hits(text)) for text in missed]}"


def test_messages_of_causes_are_claimed_by_causes() -> None:
    known = catalogue()
    vague = [
        (m.id, claim)
        for m in messages()
        if m.role == "root" and not m.excluded
        for claim in m.claims
        if known[claim.partition(":")[0]].role not in CAUSES
    ]
    assert vague == []


@pytest.mark.parametrize("role", ["root", "symptom", "any"])
def test_few_messages_are_left_out(role: str) -> None:
    looked_at = [m for m in messages() if role in (m.role, "any")]
    claimed = [m for m in looked_at if not m.excluded]
    assert len(looked_at) > 150
    assert len(claimed) >= SHARE * len(looked_at), f"{len(claimed)} of {len(looked_at)}"


def alone(text: str) -> Report:
    return classifier().classify(text + "\n")


@pytest.mark.parametrize("entry", [pytest.param(s, id=s.id) for s in silent()])
def test_a_silent_message_says_nothing(entry: Silent) -> None:
    for text in (entry.message, *entry.messages):
        found = alone(text)
        assert [c.id for c in found.classifications] == [], text
        assert found.verdict == "healthy", text
