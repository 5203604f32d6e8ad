"""Plays in one room: watches it, and sends acts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, List, Optional, TypeVar

from ._acts import Act, ActQueue
from ._patch import applied
from ._request import Fields, failure, is_temporary, picked
from ._time import spawn
from ._watch import RoomChannel, void

if TYPE_CHECKING:
    from .client import Client

HELD = ("session_required", "sign_in_required")
"""The error codes after which a sign-in may give the caller the seat back, so the acts are kept."""
NO_SEAT = "You have no seat in this room any more: the host removed you, you were away for too long, or you left elsewhere."
Listener = Callable[..., object]


Result = TypeVar("Result")


class Acts(Generic[Result]):
    """What a game reads of a room and does in it, which is the same with and without asyncio."""

    def _add(self, action: str, fields: Fields) -> Result:
        raise NotImplementedError

    @property
    def room(self) -> Optional[Fields]:
        raise NotImplementedError

    @property
    def state(self) -> Any:
        room = self.room
        return room["state"] if room else None

    @property
    def players(self) -> List[Fields]:
        room = self.room
        return list(room["players"]) if room else []

    def set(self, data: Any) -> Result:
        """Writes the player's own public data."""
        return self._add("data", {"data": data})

    def merge(self, patch: Any) -> Result:
        """Merges a patch (RFC 7396) into the player's own public data."""
        return self._add("data", {"merge": patch})

    def set_state(self, state: Any, *, if_state_seq: Optional[int] = None) -> Result:
        """Writes the room's state. With `if_state_seq` only if nobody was faster."""
        return self._add("state", {"state": state, **_if(if_state_seq)})

    def merge_state(self, patch: Any, *, if_state_seq: Optional[int] = None) -> Result:
        """Merges a patch (RFC 7396) into the room's state."""
        return self._add("state", {"merge": patch, **_if(if_state_seq)})

    def deal(self, seats: Dict[str, Any], **more: Any) -> Result:
        """Writes what only these players see, and with `state` or `merge` the room's state in the same step. Only the host may."""
        return self._add("private", {"seats": seats, **more})

    def send(self, data: Any, to: Optional[List[str]] = None) -> Result:
        """Sends a message to everybody, or to some player ids or `server`. `away` of the result names those who miss it."""
        return self._add("message", {"data": data, **({"to": to} if to is not None else {})})

    def act(self, action: str, **fields: Any) -> Result:
        """Does an action of the lobby: `leave`, `ready`, `unready`, `start`, `end`, `kick`, `transfer`, `lock`, `settings`, `rematch` …"""
        return self._add(action, fields)


class PlayedRoom(Acts["asyncio.Future[Fields]"]):
    """A room in which the player acts. Acts are done in the order of the calls, each once, also over a lost connection.

    Each act returns a future of its result: `{"ok": True, "seq": …}` or `{"ok": False, "error": …}`. It is under way without being awaited.
    """

    def __init__(self, client: "Client", code: str) -> None:
        self.code = code
        self._client = client
        self._listeners: Dict[str, List[Listener]] = {}
        self._warned: "set[str]" = set()
        self._confirmed: Optional[Fields] = None
        self._shown: Optional[Fields] = None
        self._player_id: Optional[str] = None
        self._own: Any = None
        self._has_own = False
        self._is_telling = False
        self._is_closed = False
        self._has_left = False
        self._offset_ms: Optional[float] = None
        self._round_trip_ms = float("inf")
        self._channel = _Channel(self)
        self._queue = ActQueue(self._client._clock, self._changed, lambda: self._channel.drop(), self._refused_act)
        self._watch = client._follow(self._channel, self._on_state)

    # What the game reads.

    @property
    def room(self) -> Optional[Fields]:
        """The room with the effect of own acts. None before the first news. Do not change it: later rooms share its parts."""
        if self._shown is not None or self._confirmed is None:
            return self._shown
        state, players = self._confirmed.get("state"), self._confirmed["players"]
        for act in self._queue.echo():
            fields = act.fields
            if act.action == "data":
                players = [
                    {**player, "data": applied(player.get("data"), fields, "data")} if player["id"] == self._player_id else player
                    for player in players
                ]
            elif act.action == "state" or "state" in fields or "merge" in fields:
                state = applied(state, fields, "state")
        self._shown = {**self._confirmed, "state": state, "players": players}
        return self._shown

    @property
    def me(self) -> Optional[Fields]:
        """The own player, with what only this player sees as `private`. None without a seat."""
        mine = self._mine(self.room)
        return {**mine, **({"private": self._own} if self._has_own else {})} if mine else None

    @property
    def connection(self) -> Fields:
        return self._watch.state

    @property
    def unanswered(self) -> int:
        """The number of acts without an answer."""
        return len(self._queue.unanswered())

    @property
    def ended(self) -> "asyncio.Future[str]":
        """Gives the code with which the room's watch ended."""
        return self._watch.ended

    def now(self) -> float:
        """The time by the clock of the service, in milliseconds since 1970."""
        return self._client._clock.wall() if self._offset_ms is None else self._client._clock.now() + self._offset_ms

    # What the game does.

    def _add(self, action: str, fields: Fields) -> "asyncio.Future[Fields]":
        return self._queue.add(action, fields)

    def on(self, event: str, listener: Listener) -> Callable[[], None]:
        """Calls back at `change`, `message`, `missed`, `refused`, `error` or `connection`. Returns what removes the listener."""
        listeners = self._listeners.setdefault(event, [])
        listeners.append(listener)
        if event == "change" and self.room:
            guarded(listener, self)
        return lambda: listeners.remove(listener) if listener in listeners else None

    def close(self) -> None:
        """Stops everything here, but keeps the seat. `act("leave")` gives it up."""
        self._watch.close()

    # What comes from the service.

    def _emit(self, event: str, *values: Any) -> None:
        for listener in self._listeners.get(event, [])[:]:
            guarded(listener, *values)

    def _changed(self) -> None:
        self._shown = None
        if not self._is_telling:
            self._is_telling = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_telling = False
        if self.room and not self._is_closed:
            self._emit("change", self)

    def _refused_act(self, error: Fields, act: Act) -> None:
        if self._is_closed:
            return
        warning = f"The act {act.action} was refused: {error.get('message')} ({error['code']})"
        if not self._listeners.get("refused") and warning not in self._warned:
            self._client._warn(warning)
        self._warned.add(warning)
        self._emit("refused", error, {"action": act.action})

    def _mine(self, room: Optional[Fields]) -> Optional[Fields]:
        return next((player for player in room["players"] if player["id"] == self._player_id), None) if room else None

    def _seat(self) -> Optional[str]:
        return f"{self._confirmed.get('createdAt')} {self._player_id}" if self._confirmed and self._player_id else None

    def _sits(self, you: Fields) -> None:
        self._player_id = you["playerId"]
        self._own, self._has_own = you.get("private"), "private" in you
        self._changed()

    def _take_room(self, room: Fields) -> None:
        was_seated = self._mine(self._confirmed)
        self._confirmed = room
        self._queue.seen(room["seq"])
        if was_seated and not self._mine(room):
            self._has_left = self._has_left or any(act.action == "leave" for act in self._queue.unanswered())
            self._refuse({"code": "not_in_room", "message": NO_SEAT})
        self._changed()

    def _refuse(self, error: Fields) -> None:
        if error["code"] in HELD:
            self._queue.lost()
        else:
            self._queue.refuse(error)
        if not self._has_left:
            self._emit("error", error)

    def _note_time(self, now: float, sent_at: float) -> None:
        ms = self._client._clock.now() - sent_at
        # A faster exchange is more exact.
        if ms <= self._round_trip_ms:
            self._round_trip_ms = ms
            self._offset_ms = now - sent_at - ms / 2

    async def _post(self, act: Act) -> None:
        """Sends an act by HTTP: for a room that has ended, and on networks that block WebSockets."""
        given = {**act.fields, "code": self.code, "order": act.order, "tab": self._queue.tab}
        route = f"POST /v1/rooms/{{code}}/{act.action}"
        reply = await self._client._once(route, given, self._client._identity.credential(), None)
        if not reply["ok"]:
            return self._queue.answered({"order": act.order, "error": reply["error"]})
        self._sits(reply["you"])
        if self._watch.state["status"] == "ended":
            self._take_room(reply["room"])
        self._queue.answered({"order": act.order, "seq": reply["room"]["seq"], **picked(reply, "replayed", "away")})

    def _other(self, message: Fields) -> None:
        kind = message.get("type")
        if kind == "pong":
            self._note_time(message["now"], message["t"])
        elif kind == "welcome":
            self._has_left = False
            self._round_trip_ms = float("inf")
            if message.get("now"):
                self._note_time(message["now"], self._channel.greeted_at)
            self._sits(message["you"])
            self._queue.open(self._channel.send_act, False, self._seat())
        elif kind == "you":
            self._sits(message)
        elif kind == "acted":
            self._queue.answered(message)
        elif kind in ("message", "missed"):
            self._emit(str(kind), message)
        elif message.get("error") and not is_temporary(message["error"]):
            self._refuse(message["error"])

    def _on_state(self, state: Fields) -> None:
        status, code = state["status"], state.get("code")
        self._is_closed = code == "closed"
        if code == "finished" or state.get("by") == "poll":
            self._queue.open(lambda act: void(spawn(self._post(act))), True, self._seat())
        elif self._is_closed:
            self._queue.refuse(failure("aborted", "The game has closed the room.")["error"])
        elif status == "ended":
            error = failure("room_not_found", "This room does not exist.")["error"]
            self._queue.refuse(error)
            if not self._has_left and code in ("gone", "room_not_found"):
                self._emit("error", error)
        elif status != "live":
            self._queue.lost()
        self._emit("connection", state)


class _Channel(RoomChannel):
    """The channel of a played room."""

    def __init__(self, of: PlayedRoom) -> None:
        super().__init__(of._client, of.code, of._take_room)
        self._of = of
        self._send: Callable[[Fields], None] = lambda message: None
        self.drop: Callable[[], None] = lambda: None
        self.greeted_at = 0.0
        self._greeting: Optional[Fields] = None

    def other(self, message: Fields) -> None:
        self._of._other(message)

    def opened(self, send: Callable[[Fields], None], close: Callable[[], None]) -> None:
        self._send = send
        self.drop = close
        self._greeting = None

    def hello(self) -> Optional[Fields]:
        hello = {**self.caller(), "tab": self._of._queue.tab}
        if self._greeting and self._greeting != hello:
            # A connection belongs to one caller. The acts under way on it must not be sent as acts of another.
            self.drop()
            return None
        self._of._queue.refuse(None)
        self.greeted_at = self._client._clock.now()
        self._greeting = hello
        return hello

    def send_act(self, act: Act) -> None:
        self._send({"type": "act", "order": act.order, "action": act.action, "tab": self._of._queue.tab, **act.fields})


def guarded(callback: Optional[Callable[..., object]], *values: Any) -> None:
    """Calls the game's own function. Its mistake must not stop the client."""
    if callback is None:
        return
    try:
        callback(*values)
    except Exception:
        logging.getLogger("coinop").exception("A function of the game raised")


def _if(if_state_seq: Optional[int]) -> Fields:
    return {} if if_state_seq is None else {"ifStateSeq": if_state_seq}
