"""Follows a room, a pairing, the account, a board or a list, over one connection at a time, until it ends."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

from ._patch import patched
from ._request import TRY_MS, Fields, backoff, compact, component, failure, is_temporary, picked
from ._time import NEVER, Signal, limited, settle, sleep, spawn
from ._transport import Socket
from .calls import ROUTES

if TYPE_CHECKING:
    from .client import Client

OPEN_MS = 4000
CHECK_MS = 30_000
"""How often an idle connection is checked. One whose network has failed is silent, like one without news."""
QUIET_MS = 10_000
PONG_MS = 4000
READS = 4
"""Of so many checks one is a read, which also shows whether the service is behind."""
BEHIND_MS = 2000
POLL_SECONDS = 20
POLLS = 6
"""After so many long-polls the client tries a WebSocket again. The number doubles each time."""
STEADY_MS = 30_000
FAST_TRIES = 8
POLL_MS = 4000
"""Between two reads of what the service does not long-poll."""
NEXT_CALLER_MS = 3000


Show = Callable[..., object]


class Watched:
    """What is watched, how its states are read, and where they go."""

    patches = False

    def __init__(self, client: "Client", path: str, show: Show) -> None:
        self._client = client
        self._show = show
        self.path = path

    def caller(self) -> Fields:
        """The hello of the present caller."""
        credential = self._client._identity.credential()
        if "authorization" in credential:
            return {"type": "hello", "sessionToken": credential["authorization"][7:]}
        return {"type": "hello", "installId": credential["x-install-id"]}

    async def poll(self, wait: int, position: int, signal: Signal) -> Fields:
        """Reads the present state or, given seconds to wait, the first state after the position."""
        raise NotImplementedError

    def position_of(self, message: Fields) -> Optional[int]:
        """The position of the state in a message. None: it has no state."""
        raise NotImplementedError

    async def deliver(self, message: Fields) -> bool:
        """Passes on a state. Returns whether it is the last one."""
        raise NotImplementedError

    def other(self, message: Fields) -> None:
        """Passes on a message that has no state."""

    def hello(self) -> Optional[Fields]:
        """The message to send on a new connection."""
        return None

    def opened(self, send: Callable[[Fields], None], close: Callable[[], None]) -> None:
        """Called when a connection is open."""

    async def goes_on(self) -> bool:
        """Whether the watch goes on after a final close, because another caller has signed in."""
        return False


def wait_of(tries: int, error: Fields) -> float:
    """Milliseconds before the next try: back within a second after a short outage, within 3.5 s after any, and not all at once."""
    most: float = min(1000, 250 * 2**tries) if tries < FAST_TRIES else 3500
    return min(float(error.get("retryAfterMs", 0)), 60_000) + most * (1 + random.random()) / 2


class Watch:
    """A watch. `ended` gives the code with which it ended."""

    def __init__(self, client: "Client", watched: Watched, on_state: Show) -> None:
        self._client = client
        self._clock = client._clock
        self._watched = watched
        self._on_state = on_state
        self._closing = Signal()
        self._waking: Optional[Signal] = None
        self._position = 0
        self._is_final = False
        self._whole = False
        self._error: Optional[str] = None
        self._link: Optional[_Link] = None
        self.state: Fields = {"status": "connecting"}
        self.ended: "asyncio.Future[str]" = asyncio.get_running_loop().create_future()
        spawn(self._run())

    def _set(self, state: Fields) -> None:
        if not self._closing.aborted:
            self.state = state
            self._on_state(state)

    def _live(self, by: str) -> None:
        if self.state["status"] != "live":
            self._set({"status": "live", "by": by})

    def _finish(self, code: str) -> None:
        self._set({"status": "ended", "code": code})
        self._closing.abort()
        settle(self.ended, code)

    def close(self) -> None:
        if not self.ended.done():
            self._finish("closed")

    def wake(self) -> None:
        """Checks the connection, or connects at once."""
        if self._waking:
            self._waking.abort()
        if self._link:
            self._link.check()

    def greet(self) -> None:
        """Sends `hello` again on the open connection."""
        if self._link:
            self._link.greet()

    async def take(self, message: Fields) -> int:
        """Passes a state on if it is newer than the last one. Returns its position."""
        found = self._watched.position_of(message)
        if self._closing.aborted:
            return 0
        if found is None:
            self._watched.other(message)
        elif found > self._position:
            self._position = found
            if await self._watched.deliver(message):
                self._is_final = True
        return found or 0

    async def poll(self, wait: int) -> Fields:
        """Reads the state from the service, and passes it on."""
        known = self._position
        reply = await self._watched.poll(wait, known, self._closing)
        if reply["ok"]:
            found = self._watched.position_of(reply)
            # It is older than the last one, although it was read later: the service has lost changes.
            if self._position == known and found is not None and found < known:
                self._position = 0
            await self.take(reply)
        return reply

    async def _run(self) -> None:
        polls = POLLS
        tries = -1
        was_refused = False
        while not self._closing.aborted:
            tries += 1
            self._set({"status": "connecting"})
            code, open_ms = await self._over_socket() if self._client._sockets else (0, -1.0)
            if self._closing.aborted:
                break
            if 4501 < code < 5000:
                if await self._watched.goes_on():
                    continue
                return self._finish(self._error or "finished")
            if self._is_final or code in (4500, 4501):
                return self._finish("gone" if code == 4500 else "finished")
            if open_ms > STEADY_MS:
                tries = 0
            problem: Optional[Fields] = None
            if open_ms >= 0:
                was_refused = False
            else:
                # A WebSocket does not tell why it could not open. A read tells it, or shows that the network blocks only WebSockets. The
                # service may have come back between the two, so a second try tells.
                is_first = self._client._sockets and not was_refused
                problem = await self._over_polls(1 if is_first else polls)
                was_refused = is_first and problem is None
                if self._closing.aborted:
                    break
                if self._is_final:
                    return self._finish("finished")
                if problem and problem.get("status") and not is_temporary(problem["error"]):
                    return self._finish(problem["error"]["code"])
                if problem is None:
                    polls *= 1 if was_refused else 2
                    continue
            error = problem["error"] if problem else {}
            wait = wait_of(tries, error)
            self._waking = Signal()
            self._set({"status": "waiting", "ms": wait, **({"error": error} if problem else {})})
            await sleep(self._clock, wait, self._waking, self._closing)
            self._waking = None

    async def _over_polls(self, times: int) -> Optional[Fields]:
        """Long-polls so many times. Returns the failure that stopped it."""
        for turn in range(times):
            if self._closing.aborted or self._is_final:
                break
            # The first poll does not wait for news, so it is answered at once.
            reply = await self.poll(POLL_SECONDS if turn else 0)
            if not reply["ok"]:
                return reply
            # A single read tells only why there is no WebSocket.
            if times > 1:
                self._live("poll")
        return None

    async def _over_socket(self) -> Tuple[int, float]:
        """Watches over one WebSocket until it closes. Returns the close code, and for how long it was open: below 0 if it never opened."""
        url = self._client._base.replace("http", "ws", 1) + self._watched.path
        asked = "?patch=1" if self._watched.patches and not self._whole else ""
        try:
            socket = await limited(self._clock, OPEN_MS, [self._closing], lambda: self._client._transport.connect(url + asked))
        except Exception:
            return 0, -1
        link = self._link = _Link(self, socket)
        self._closing.listen(link.stop)
        try:
            return await link.run()
        finally:
            self._link = None
            self._closing.forget(link.stop)


class _Link:
    """One open connection of a watch."""

    def __init__(self, watch: Watch, socket: Socket) -> None:
        self._watch = watch
        self._clock = watch._clock
        self._socket = socket
        self._opened_at = self._clock.now()
        self._is_over = False
        self._brought = 0
        """The position of the newest state that this connection brought."""
        self._room: Any = None
        """The last room of this connection: the next patch applies to it, even if a read has found a newer one."""
        self._timer = NEVER
        self._pings = False
        self._checks = 0

    def _after(self, ms: float, run: Callable[[], object]) -> None:
        self._timer.cancel()
        if not self._is_over:
            self._timer = self._clock.later(ms, lambda: void(run()))

    def stop(self) -> None:
        """Ends the connection. Another one follows, unless the watch is over."""
        self._is_over = True
        self._socket.close()
        self._timer.cancel()

    async def run(self) -> Tuple[int, float]:
        self._watch._watched.opened(lambda message: self._socket.send(compact(message)), self.stop)
        self._idle()
        self.greet()
        code = 0
        while not self._is_over:
            text = await self._socket.receive()
            if text is None:
                code = 0 if self._is_over else self._socket.code
                break
            try:
                await self._receive(json.loads(text))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                break
        opened_ms = self._clock.now() - self._opened_at
        self.stop()
        return code, opened_ms

    def greet(self) -> None:
        hello = self._watch._watched.hello()
        if hello and not self._is_over:
            self._socket.send(compact(hello))

    def _idle(self) -> None:
        self._after(QUIET_MS if self._pings else CHECK_MS * (1 + random.random() / 2), self._probe)

    def _probe(self) -> None:
        self._checks += 1
        if self._pings and self._checks % READS:
            self.check()
        else:
            spawn(self._read())

    def check(self) -> None:
        if self._is_over:
            return
        if not self._pings:
            spawn(self._read())
            return
        self._socket.send(compact({"type": "ping", "t": self._clock.now()}))
        self._after(PONG_MS, self.stop)

    async def _read(self) -> None:
        self._idle()
        reply = await self._watch.poll(0)
        if self._is_over:
            return
        # The service did not answer, or refused. A new connection follows, and ends the watch if the room no longer exists.
        if not reply["ok"] and reply.get("status", 0) < 429:
            self.stop()
        elif self._watch._position > self._brought:
            self._after(BEHIND_MS, self.stop)

    async def _receive(self, message: Dict[str, Any]) -> None:
        watch = self._watch
        kind = message.get("type")
        if kind == "welcome" and message.get("now"):
            self._pings = True
        # A patch that does not fit raises, which ends this connection. `_whole` is then still set: the next one asks for whole rooms.
        watch._whole = True
        if "ops" in message:
            message = {"room": patched(self._room, message.get("from"), message["ops"])}
        watch._whole = False
        self._room = message.get("room", self._room)
        known = watch._position
        self._idle()
        watch._live("socket")
        # The error of an `acted` is not the channel's.
        error = message.get("error") if kind == "error" else None
        if error:
            watch._error = error["code"]
            # The service could not process the hello at the moment, so it is sent again.
            if is_temporary(error):
                self._clock.later(backoff(2, error), self.greet)
        found = await watch.take(message)
        # A new connection brought an older state than the known one: the service has lost changes, or this process of it is behind.
        if found and not self._brought and found < known:
            self._after(BEHIND_MS, lambda: spawn(self._read()))
        self._brought = max(self._brought, found)
        if watch._is_final:
            self.stop()


def void(_: object) -> None:
    """Drops a value."""


class WatchedList(Watched):
    """A board, or the open rooms. The service sends them whole, and without positions: each text that differs from the last one gets the next
    number."""

    def __init__(self, client: "Client", path: str, fields: List[str], call: str, given: Fields, show: Show, most: int = 0) -> None:
        super().__init__(client, path, show)
        self._fields = fields
        self._call = call
        self._given = given
        self._most = most
        self._now = 0
        self._last = ""

    async def read(self, signal: Signal) -> Fields:
        return await self._client._once(ROUTES[self._call], self._given, {}, signal)

    def text_of(self, message: Fields) -> Optional[str]:
        return compact(self.shown(message)) if self._fields[0] in message else None

    def shown(self, message: Fields) -> List[Any]:
        return [message.get(field) for field in self._fields]

    def is_short(self, reply: Fields) -> bool:
        """Whether the channel may have more than this reply."""
        return bool(reply.get("nextCursor")) and len(reply[self._fields[0]]) < self._most

    async def poll(self, wait: int, position: int, signal: Signal) -> Fields:
        # The service answers these reads at once, so the client waits before them.
        if wait:
            await sleep(self._client._clock, POLL_MS, signal)
            if signal.aborted:
                return failure("aborted")
        before = self._now
        reply = await self.read(signal)
        # The socket has brought news since.
        is_old = self._now > before or (not wait and before and self.is_short(reply))
        return {"ok": True} if reply["ok"] and is_old else reply

    def position_of(self, message: Fields) -> Optional[int]:
        text = self.text_of(message)
        return None if text is None else self._now + (text != self._last)

    async def deliver(self, message: Fields) -> bool:
        self._last = self.text_of(message) or ""
        self._now += 1
        self._show(*self.shown(message))
        return False


class WatchedAccount(WatchedList):
    """The caller's account."""

    def __init__(self, client: "Client", on_account: Show) -> None:
        super().__init__(client, "/v1/account/live", ["entitlement"], "coins.balance", {}, on_account)
        self._account_id: Optional[str] = None
        self._greeted: Optional[Fields] = None
        self._before: Optional[Fields] = None
        self._greeted_at = 0.0
        self._is_new = True

    async def read(self, signal: Signal) -> Fields:
        by = self._client._identity.credential()
        balance = await self._client._once(ROUTES["coins.balance"], {}, by, signal)
        if not balance["ok"]:
            return balance
        reply = await self._client._once(ROUTES["entitlement.current"], {}, by, signal)
        return {**balance, "entitlement": picked(reply, "state", "access", "expiresAt")} if reply["ok"] else reply

    def text_of(self, message: Fields) -> Optional[str]:
        if not message.get("entitlement"):
            return None
        account = message.get("accountId", self._account_id)
        return compact([account, message.get("balanceCoins"), message.get("debtCoins"), message["entitlement"]])

    def shown(self, message: Fields) -> List[Any]:
        self._account_id = message.get("accountId", self._account_id)
        named = {"accountId": self._account_id} if self._account_id else {}
        return [{**named, **{name: value for name, value in message.items() if name not in ("type", "ok", "version")}}]

    def opened(self, send: Callable[[Fields], None], close: Callable[[], None]) -> None:
        self._is_new = True

    def hello(self) -> Optional[Fields]:
        hello = self.caller()
        if hello != self._greeted:
            self._account_id = None
            self._before = None if self._is_new else self._greeted
            self._greeted_at = self._client._clock.now()
        self._is_new = False
        self._greeted = hello
        return hello

    async def goes_on(self) -> bool:
        # The service may have closed the connection of the former caller before it got the hello of the present one.
        is_recent = self._client._clock.now() - self._greeted_at < NEXT_CALLER_MS
        lost = self._before if self._before and is_recent else self._greeted
        self._before = None
        for _ in range(NEXT_CALLER_MS // 100):
            if self.caller() != lost:
                return True
            await sleep(self._client._clock, 100)
        return False


class WatchedPairing(Watched):
    """A pairing. With `claimed` the client has the session."""

    _POSITIONS = {"pending": 1, "scanned": 2}

    def __init__(self, client: "Client", pairing: Mapping[str, Any], on_status: Show) -> None:
        super().__init__(client, f"/v1/pair/live?token={component(pairing['token'])}", on_status)
        self._pairing = {"token": pairing["token"], "secret": pairing.get("secret")}
        self._since: Optional[str] = None

    async def _status(self, more: Fields, signal: Signal, ms: float) -> Fields:
        return await self._client._call("pairing.status", {**self._pairing, **more}, ms, signal)

    async def poll(self, wait: int, position: int, signal: Signal) -> Fields:
        return await self._status({"wait": wait, "since": self._since} if wait else {}, signal, 30_000)

    def position_of(self, message: Fields) -> Optional[int]:
        status = message.get("status")
        return self._POSITIONS.get(status, 3) if isinstance(status, str) else None

    async def deliver(self, message: Fields) -> bool:
        self._since = message["status"]
        # The channel brings only the status. A read gives the session, which the service keeps for ten minutes.
        is_claimed = "type" in message and self._since == "claimed"
        reply = await self._status({}, self._client._closed, 600_000) if is_claimed else message
        named = {"claimedBy": reply["claimedBy"]} if reply.get("claimedBy") else {}
        self._show({"status": self._since, **named})
        return self.position_of(message) == 3


class RoomChannel(Watched):
    """The channel of a room: what a watch and a player read of it in the same way."""

    patches = True

    def __init__(self, client: "Client", code: str, on_room: Show) -> None:
        super().__init__(client, f"/v1/rooms/{component(code)}/live", on_room)
        self._code = code

    async def poll(self, wait: int, position: int, signal: Signal) -> Fields:
        given: Fields = {"code": self._code, **({"since": position, "wait": wait} if wait else {})}
        return await self._client._once(ROUTES["rooms.read"], given, {}, signal, wait * 1000 + TRY_MS)

    def position_of(self, message: Fields) -> Optional[int]:
        room = message.get("room")
        return int(room["seq"]) if isinstance(room, dict) else None

    async def deliver(self, message: Fields) -> bool:
        self._show(message["room"])
        return bool(message["room"].get("phase") == "ended")


class WatchedRoom(RoomChannel):
    """A room, as a spectator or a player who only watches sees it."""

    def __init__(self, client: "Client", code: str, hello: bool, on_room: Show, on_you: Show, on_error: Show) -> None:
        super().__init__(client, code, on_room)
        self._greets = hello
        self._on_you = on_you
        self._on_error = on_error

    def other(self, message: Fields) -> None:
        if message.get("error"):
            self._on_error(message["error"])
        elif message.get("you"):
            self._on_you(message["you"])

    def hello(self) -> Optional[Fields]:
        return self.caller() if self._greets else None
