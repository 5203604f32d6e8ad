"""What requests are made of, and what their answers and failures mean."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from typing import Any, Dict, Optional, Sequence
from urllib.parse import quote

from ._time import Signal, is_aborted

Fields = Dict[str, Any]
Credential = Dict[str, str]

TRY_MS = 5000
"""The most milliseconds of one try. The service answers within 2 s; after a longer silence a new connection may help."""

UNCLEAR = ("network", "timeout", "internal")
"""The error codes after which the service may have carried out the request."""
TEMPORARY = (*UNCLEAR, "rate_limited", "overloaded", "store_unavailable", "app_store_unavailable")
"""The error codes after which the same request may succeed later."""


_HALF = re.compile("[\ud800-\udfff]")


def is_temporary(error: Fields) -> bool:
    return error.get("code") in TEMPORARY


def failure(code: str, message: Optional[str] = None, **more: Any) -> Fields:
    return {"ok": False, "error": {"code": code, "message": message or code, **more}}


def picked(reply: Fields, *names: str) -> Fields:
    """The fields of these names that there are."""
    return {name: reply[name] for name in names if name in reply}


def stopped_by(signals: Sequence[Optional[Signal]]) -> Fields:
    """The failure of a call that was stopped: `aborted` by one of the signals, or else `timeout`."""
    return failure("aborted" if is_aborted(signals) else "timeout")


def compact(value: Any) -> str:
    """The value as JSON. Raises for what is no JSON, such as NaN."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # UTF-8 has no half of a surrogate pair. The service refuses one by its path, if it arrives.
    return text if text.isascii() or not _HALF.search(text) else json.dumps(value, separators=(",", ":"), allow_nan=False)


def component(value: Any) -> str:
    """The value as a part of an address."""
    return quote(value if isinstance(value, str) else compact(value), safe="!'()*~-_.", errors="replace")


def backoff(tries: int, error: Fields, most_ms: float = 5000, first_ms: float = 300) -> float:
    """Milliseconds before the next try: exponential backoff with full jitter, after the time for which the service asked, a minute at most."""
    asked = float(error.get("retryAfterMs", 0))
    return min(asked, 60_000) + random.random() * min(most_ms, first_ms * 2.0 ** min(tries, 30))


def answer_of(status: int, headers: Dict[str, str], text: str) -> Fields:
    """The result of an answer. Only the form of the service's answers counts: a proxy or another server may have answered."""
    reply = failure("network" if status >= 500 or status == 429 else "not_coinop", f"Status {status}")
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        body = json.loads(text)
        if isinstance(body, dict) and body.get("ok") is (status == 200):
            if body["ok"]:
                return body
            if body["error"]["code"]:
                reply = {**body, "status": status}
    with suppress(ValueError):
        asked = float(headers.get("retry-after", "")) * 1000
        if 0 < asked < 1e12:
            reply["error"].setdefault("retryAfterMs", round(asked))
    return reply
