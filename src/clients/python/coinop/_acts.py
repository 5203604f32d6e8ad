"""The acts of one player in one room. The service does them in the order of the calls, each once.

The service does an act if its order is above the last order of its tab, and takes any other for a repetition. So mostly only one act is under
way, and is sent again under its order until it is answered. Two kinds are sent without waiting: changes of the player's own data, and
messages. A change of own data then also holds the unanswered changes before it, so the last one has all, whichever of them the service does.
If the service refuses a message for now and has done a later act meanwhile, the message gets a new order before it is sent again.
"""

from __future__ import annotations

import asyncio
import json
from typing import Callable, List, Optional

from ._patch import combined
from ._request import Fields, backoff, compact, failure, is_temporary, picked
from ._store import random_text
from ._time import NEVER, Clock, settle

MOST_ACTS = 256
MOST_SENT = 16
SILENCE_MS = 4500
"""Milliseconds without an answer after which a new connection may help. The service answers each act within 3 s."""


class Act:
    def __init__(self, action: str, fields: Fields, done: "asyncio.Future[Fields]") -> None:
        self.action = action
        self.fields = fields
        self.order = 0
        """Its number in the tab. 0 before it is sent."""
        self.seat: Optional[str] = None
        self.seq = 0
        """The `seq` of the room after the act."""
        self.is_unclear = False
        self.done = [done]


class _Bucket:
    """Allows a rate and a burst by the generic cell rate algorithm, as the service does."""

    def __init__(self, clock: Clock, per_second: float, at_once: int) -> None:
        self._clock = clock
        self._interval = 1000 / per_second
        self._at_once = at_once
        self._paid_until = 0.0

    def wait_ms(self) -> float:
        return self._paid_until - self._clock.now() - self._interval * (self._at_once - 1)

    def take(self) -> None:
        self._paid_until = max(self._paid_until, self._clock.now()) + self._interval


class ActQueue:
    def __init__(
        self, clock: Clock, changed: Callable[[], None], stuck: Callable[[], None], refused: Callable[[Fields, Act], None]
    ) -> None:
        self.tab = random_text(16)
        self._clock = clock
        self._changed = changed
        self._stuck = stuck
        self._refused = refused
        # Below the limits of a seat: 30 acts a second and 60 at once, of which 20 and 40 may be messages.
        self._acts = _Bucket(clock, 25, 30)
        self._messages = _Bucket(clock, 16, 20)
        self._waiting: List[Act] = []
        self._sent: List[Act] = []
        self._again: List[Act] = []
        """Acts that were refused for now while later ones were under way."""
        self._shown: List[Act] = []
        """Acts that the service has done, but whose effect is not yet in the room."""
        self._next_order = 1
        self._last_done = 0
        self._last_data = 0
        self._room_seq = 0
        self._line: Optional[Callable[[Act], None]] = None
        self._is_http = False
        self._seat: Optional[str] = None
        self._refusal: Optional[Fields] = None
        self._tries = 0
        self._paused_until = 0.0
        self._pausing = NEVER
        self._listening = NEVER

    def _settle(self, act: Act, result: Fields) -> None:
        if not result["ok"]:
            self._refused(result["error"], act)
        for done in act.done:
            settle(done, result)

    def _following(self, act: Act) -> Optional[Fields]:
        """The fields with which an act can be sent while others have no answer. None: it has to wait."""
        if self._is_http or any(each.action not in ("data", "message") for each in (act, *self._sent)):
            return None
        before = [each for each in self._sent if each.action == "data"] if act.action == "data" else []
        return combined(before[-1].fields, act.fields, "data") if before else act.fields

    def _listen(self) -> None:
        self._listening.cancel()
        if self._sent and not self._is_http:
            self._listening = self._clock.later(SILENCE_MS, self._stuck)

    def _wait_ms(self, action: str) -> float:
        pause = self._paused_until - self._clock.now()
        if pause > 0:
            return pause
        counted = [self._acts, self._messages] if action == "message" else [self._acts]
        wait = max(bucket.wait_ms() for bucket in counted)
        if wait <= 0:
            for bucket in counted:
                bucket.take()
        return wait

    def _pump(self) -> None:
        self._pausing.cancel()
        while self._line and self._waiting and not self._again and len(self._sent) < MOST_SENT:
            act = self._waiting[0]
            fields = self._following(act) if self._sent else act.fields
            if fields is None:
                return
            wait = self._wait_ms(act.action)
            if wait > 0:
                self._pausing = self._clock.later(wait, self._pump)
                return
            self._waiting.pop(0)
            act.fields = fields
            if not act.order:
                act.order = self._next_order
                self._next_order += 1
            self._sent.append(act)
            self._listen()
            self._line(act)

    def unanswered(self) -> List[Act]:
        return sorted([*self._sent, *self._again, *self._waiting], key=lambda act: act.order or 2**53)

    def echo(self) -> List[Act]:
        """The acts whose effect is shown although the room from the service does not have it yet, in their order."""
        return [*self._shown, *self.unanswered()]

    def _requeue(self) -> None:
        """Puts refused acts back. If a later one was done in the meantime, they get new orders."""
        is_late = any(act.order < self._last_done for act in self._again)
        again, self._again = self._again, []
        staying = []
        for act in again:
            # The service may have sent this message already, and must not send it twice.
            if is_late and act.is_unclear and act.action == "message":
                self._settle(act, failure("store_unavailable"))
            else:
                act.order = 0 if is_late else act.order
                staying.append(act)
        self._waiting = sorted([*staying, *self._waiting], key=lambda act: act.order or 2**53)

    def _postpone(self, act: Act, error: Fields) -> None:
        self._paused_until = self._clock.now() + backoff(self._tries, error)
        self._tries += 1
        act.is_unclear = act.is_unclear or error.get("outcome") == "unknown"
        later = next((each for each in self.unanswered() if each.action == act.action == "data" and each.order > act.order), None)
        if later:
            # It holds the changes of the refused act, which need not be sent again.
            later.done.extend(act.done)
        elif act.action == "data" and self._last_data > act.order:
            self._settle(act, {"ok": True, "seq": self._room_seq})
        else:
            self._again.append(act)

    def lost(self) -> None:
        """Notes that there is no connection. Acts without an answer are sent again by the next one."""
        self._line = None
        self._waiting = [*self._sent, *self._waiting]
        self._sent = []
        self._requeue()
        self._listen()

    def add(self, action: str, given: Fields) -> "asyncio.Future[Fields]":
        """Adds an act, or merges it into one of the same kind that waits."""
        # A copy, because the game may change its object before the act is sent. It raises for what is no JSON.
        fields: Fields = json.loads(compact(given))
        done: "asyncio.Future[Fields]" = asyncio.get_running_loop().create_future()
        if self._refusal:
            done.set_result({"ok": False, "error": self._refusal})
            return done
        last = self._waiting[-1] if self._waiting else None
        both = None
        if last and action in ("data", "state") and last.action == action and not last.order and "ifStateSeq" not in {**last.fields, **fields}:
            both = combined(last.fields, fields, action)
        if both is not None and last:
            last.fields = both
            last.done.append(done)
        elif len(self.unanswered()) >= MOST_ACTS:
            done.set_result(failure("queue_full", f"{MOST_ACTS} acts wait already."))
            return done
        else:
            act = Act(action, fields, done)
            act.seat = self._seat
            self._waiting.append(act)
        self._changed()
        self._pump()
        return done

    def answered(self, answer: Fields) -> None:
        order, error = answer["order"], answer.get("error")
        seq = answer.get("seq", self._room_seq)
        act = next((each for each in self._sent if each.order == order), None)
        if not act:
            return
        self._sent.remove(act)
        self._listen()
        if not error or _has_left(act, error):
            self._tries = 0
            self._last_done = max(self._last_done, order)
            if act.action == "data":
                self._last_data = max(self._last_data, order)
            act.seq = seq
            if seq > self._room_seq:
                self._shown.append(act)
            self._settle(act, {"ok": True, "seq": seq, **picked(answer, "replayed", "away")})
        elif is_temporary(error) and error["code"] != "internal":
            self._postpone(act, error)
        else:
            self._settle(act, {"ok": False, "error": error})
        if not self._sent:
            self._requeue()
        self._changed()
        self._pump()

    def seen(self, seq: int) -> None:
        """Notes that the client has the room of this `seq`."""
        if seq < self._room_seq:
            # The service has lost changes, and so the effects of acts that it had done.
            self._shown = []
        self._room_seq = seq
        self._shown = [act for act in self._shown if act.seq > seq]

    def open(self, line: Callable[[Act], None], is_http: bool, of: Optional[str]) -> None:
        """Takes an open connection for a seat."""
        if self._line:
            self.lost()
        self._refusal = None
        self._line = line
        self._is_http = is_http
        self._seat = of or self._seat
        foreign = [act for act in self._waiting if act.seat and self._seat and act.seat != self._seat]
        self._waiting = [act for act in self._waiting if act not in foreign]
        for act in foreign:
            self._settle(act, failure("not_in_room", "It was made for another seat."))
        for act in self._waiting:
            act.seat = self._seat
        if foreign:
            self._changed()
        self._pump()

    def refuse(self, error: Optional[Fields]) -> None:
        """Notes that the service refuses all acts of this caller. None: it accepts them again."""
        self._refusal = error
        if error is None:
            return
        self.lost()
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            self._settle(act, {"ok": True, "seq": self._room_seq} if _has_left(act, error) else {"ok": False, "error": error})
        self._pausing.cancel()
        self._changed()


def _has_left(act: Act, error: Fields) -> bool:
    """A repeated `leave` is refused with `not_in_room` if the first one was done and its answer was lost."""
    return act.action == "leave" and error["code"] == "not_in_room"
