"""The client of one service for one player, for asyncio. `coinop.plain` has the same without asyncio."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import quote
import warnings

from ._identity import Identity
from ._outbox import OPERATIONS, Outbox
from ._request import TRY_MS, Credential, Fields, Sender, component, failure
from ._room import PlayedRoom, guarded
from ._saves import OnConflict, Saves
from ._store import SafeStore, Store, random_text
from ._time import Clock, Signal, stopped
from ._transport import Transport
from ._watch import Watch, Watched, WatchedAccount, WatchedList, WatchedPairing, WatchedRoom
from .calls import ROUTES, Calls

SAME_SEAT_MS = 10_000
"""For so long the service gives the same caller the same seat of a match. A later repetition could take a second seat."""
PROVIDER_MS = 12_000
"""The most milliseconds of a try for which the service asks a provider of sign-ins, which takes up to 10 s."""
PURCHASE_MS = 20_000
"""The same for the app store: up to 17 s."""
ACTS = frozenset("leave ready state kick unready lock unlock rematch start settings data private transfer end".split())
MOST_LISTED = 50


class Client(Calls):
    """A client. Make it inside of a running event loop, and `close` it at the end.

    Calls return `{"ok": True, …}` or `{"ok": False, "error": {"code": …}}`, and never raise for the network or the service.

    url: the address of the service. store: where the install, the session and unfinished operations are kept; None is memory. install_id: an
    install of the game's own. timeout_ms: of a call with its repetitions. on_operation, on_purchase: get `(operation, result)` of every coin
    operation and purchase, also of those that an earlier start began. on_warning: gets texts for the developer. device, on_conflict,
    on_saved: of saves.
    """

    def __init__(
        self,
        url: str,
        *,
        store: Optional[Store] = None,
        name: str = "coinop",
        install_id: Optional[str] = None,
        timeout_ms: float = 15_000,
        on_operation: Optional[Callable[[Fields, Fields], object]] = None,
        on_purchase: Optional[Callable[[Fields, Fields], object]] = None,
        on_warning: Callable[[str], object] = warnings.warn,
        device: Optional[str] = None,
        on_conflict: Optional[OnConflict] = None,
        on_saved: Optional[Callable[[Fields, Fields], object]] = None,
        transport: Optional[Transport] = None,
        clock: Optional[Clock] = None,
        sockets: bool = True,
    ) -> None:
        base = url.rstrip("/")
        if not re.fullmatch(r"https?://[^/?#@\s]+", base):
            raise ValueError(f"Bad url: {base}")
        if install_id is not None and not re.fullmatch("[!-~]+", install_id):
            raise ValueError("Bad install_id")
        super().__init__(self._call)
        self._name = name
        self._timeout_ms = timeout_ms
        self._clock = clock or Clock()
        self._transport = transport or Transport()
        self._sockets = sockets
        self._closed = Signal()
        self._watches: List[Watch] = []
        self._warn: Callable[[str], None] = lambda message: guarded(on_warning, message)
        self._sender = Sender(self._transport, self._clock, base)
        self._store = SafeStore(store, self._warn)

        async def ask(credential: Credential) -> Fields:
            return await self._repeat(ROUTES["sessions.current"], {}, None, None, by=lambda: credential)

        self._identity = Identity(self._store, f"{name}:me", install_id, self._warn, self._clock, ask)

        def told(operation: Fields, result: Fields) -> None:
            guarded(on_purchase if operation["type"] == "buy" else on_operation, operation, result)

        async def send(operation: Fields, credential: Credential) -> Fields:
            given = {field: value for field, value in operation.items() if field != "type"}
            kind = operation["type"]
            return await self._sender.once(OPERATIONS[kind], given, credential, self._closed, PURCHASE_MS if kind == "buy" else TRY_MS)

        self._outbox = Outbox(self._store, f"{name}:op:", self._identity, self._clock, self._closed, send, told)
        self._tab = random_text(16)
        self._order = 0
        self._before = Signal()
        self._before.abort()
        self.saves = Saves(self, device, on_conflict, on_saved)
        self._outbox.wake()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def who(self) -> Dict[str, Any]:
        """The caller: `installId`, and of a session `sessionToken` and `accountId`. All but the last are secrets of the player."""
        me = self._identity.load()
        return {field: me[field] for field in ("installId", "sessionToken", "accountId") if me.get(field)}

    def wake(self) -> None:
        """Tries everything again at once, because the device woke up or has a network again."""
        self._outbox.wake()
        for watch in self._watches[:]:
            watch.wake()

    def discard_held(self) -> None:
        """Removes the operations that wait for a sign-in."""
        self._outbox.discard_held()

    def close(self) -> None:
        """Ends all watches and calls. Unfinished operations stay in the store."""
        for watch in self._watches[:]:
            watch.close()
        self._closed.abort()

    # What a game follows.

    def watch_room(
        self,
        code: str,
        on_room: Callable[[Any], None],
        *,
        hello: bool = True,
        on_state: Optional[Callable[[Any], None]] = None,
        on_you: Optional[Callable[[Any], None]] = None,
        on_error: Optional[Callable[[Any], None]] = None,
    ) -> Watch:
        """Calls back with the whole room, at once and after every change. Do not change it: later rooms share its parts."""

        watched = WatchedRoom(code, self._read_room, _guard(on_room))
        watched.by = self._identity.credential if hello else None
        watched.on_you, watched.on_error = _guard(on_you), _guard(on_error)
        return self._follow(watched, on_state)

    async def _read_room(self, given: Fields, signal: Signal, ms: float) -> Fields:
        return await self._sender.once(ROUTES["rooms.read"], given, {}, signal, ms)

    def play_room(self, code: str) -> PlayedRoom:
        """Plays in a room in which the player has a seat."""
        return PlayedRoom(code, self._read_room, self._sender.once, self._identity.credential, self._clock, self._follow, self._warn)

    async def quick_match(self, *, timeout_ms: Optional[float] = None, signal: Optional[Signal] = None, **wanted: Any) -> Fields:
        """Takes a seat in the oldest open room of `game` with these `tags`, or in a new one. The result has `room` and `created`."""
        ms = min(SAME_SEAT_MS if timeout_ms is None else timeout_ms, SAME_SEAT_MS)
        reply = await self._repeat(ROUTES["rooms.match"], wanted, ms, signal)
        return {"ok": True, "room": self.play_room(reply["room"]["code"]), "created": reply["created"]} if reply["ok"] else reply

    def watch_pairing(
        self, pairing: Fields, on_status: Callable[[Any], None], *, on_state: Optional[Callable[[Any], None]] = None
    ) -> Watch:
        """Calls back with each status of a pairing of `pairing.open()`. With `claimed` the client has the session."""

        async def status(more: Fields, signal: Signal, ms: float) -> Fields:
            given = {"token": pairing["token"], "secret": pairing.get("secret"), **more}
            return await self._call("pairing.status", given, ms, signal)

        path = f"/v1/pair/live?token={component(pairing['token'])}"
        return self._follow(WatchedPairing(pairing["token"], path, status, self._closed, _guard(on_status)), on_state)

    def watch_account(self, on_account: Callable[[Any], None], *, on_state: Optional[Callable[[Any], None]] = None) -> Watch:
        """Calls back with the player's balance and entitlement, at once and after every change, whoever made it."""

        async def read(signal: Signal) -> Fields:
            by = self._identity.credential()
            balance = await self._sender.once(ROUTES["coins.balance"], {}, by, signal)
            if not balance["ok"]:
                return balance
            reply = await self._sender.once(ROUTES["entitlement.current"], {}, by, signal)
            shown = {name: reply[name] for name in ("state", "access", "expiresAt") if name in reply}
            return {**balance, "entitlement": shown} if reply["ok"] else reply

        return self._follow(WatchedAccount(read, self._identity.credential, self._clock, _guard(on_account)), on_state)

    def watch_board(self, game: str, on_top: Callable[[Any, Any], None], *, on_state: Optional[Callable[[Any], None]] = None) -> Watch:
        """Calls back with the ten best scores of a game and its season, or None, at once and after changes."""

        async def read(signal: Signal) -> Fields:
            return await self._sender.once(ROUTES["highscores.top"], {"game": game}, {}, signal)

        def show(board: Fields) -> None:
            guarded(on_top, board["top"], board.get("season"))

        return self._follow(WatchedList(f"/v1/highscores/{component(game)}/live", "top", read, self._clock, show), on_state)

    def watch_lobby(
        self,
        on_rooms: Callable[[Any], None],
        *,
        game: Optional[str] = None,
        tags: Optional[Fields] = None,
        on_state: Optional[Callable[[Any], None]] = None,
    ) -> Watch:
        """Calls back with the newest 50 open rooms of a game with all of these tags, at once and after changes."""
        query = _with_tags({"game": game, "tags": tags})

        async def read(signal: Signal) -> Fields:
            return await self._sender.once(ROUTES["rooms.list"], {**query, "limit": MOST_LISTED}, {}, signal)

        text = "&".join(f"{quote(field)}={component(value)}" for field, value in query.items())
        path = "/v1/lobby/live" + (f"?{text}" if text else "")
        return self._follow(WatchedList(path, "rooms", read, self._clock, lambda list: guarded(on_rooms, list["rooms"]), MOST_LISTED), on_state)

    def _follow(self, watched: Watched, on_state: Optional[Callable[[Any], None]] = None) -> Watch:
        watch = Watch(watched, self._transport, self._sender.base, self._clock, self._sockets, _guard(on_state))
        self._watches.append(watch)
        watch.ended.add_done_callback(lambda _: self._watches.remove(watch))
        return watch

    # How calls are made.

    async def _repeat(
        self,
        route: str,
        given: Fields,
        timeout_ms: Optional[float],
        signal: Optional[Signal],
        *,
        by: Optional[Callable[[], Credential]] = None,
        try_ms: float = TRY_MS,
    ) -> Fields:
        wait_ms = 1000 * (given.get("wait") or 0)
        ms = self._timeout_ms + wait_ms if timeout_ms is None else timeout_ms
        credential = by or self._identity.credential

        async def send(whole: Signal) -> Fields:
            return await self._sender.once(route, given, credential(), whole, try_ms + wait_ms)

        return await self._sender.repeat(not route.startswith("!"), ms, [signal, self._closed], send)

    async def _call(self, name: str, given: Fields, timeout_ms: Optional[float] = None, signal: Optional[Signal] = None) -> Fields:
        """Makes the call of a name, such as `coins.credit`."""
        feature, call = name.split(".")
        route = ROUTES[name]
        if route in OPERATIONS.values():
            kind = next(kind for kind, of in OPERATIONS.items() if of == route)
            # The app store's own id makes a purchase unique.
            key = {} if kind == "buy" else {"key": given["key"] if given.get("key") is not None else random_text()}
            return await self._outbox.operate({**given, **key, "type": kind}, signal, self._timeout_ms if timeout_ms is None else timeout_ms)
        if feature == "rooms" and call in ACTS:
            return await self._act(route, given, timeout_ms, signal)
        if name == "rooms.list":
            return await self._repeat(route, _with_tags(given), timeout_ms, signal, by=dict)
        special = getattr(self, f"_{feature}_{_snake(call)}", None)
        if special:
            result: Fields = await special(route, given, timeout_ms, signal)
            return result
        reply = await self._repeat(route, given, timeout_ms, signal)
        if name == "rooms.join":
            # The player of a new seat is shown as connected only after a hello on the channel.
            self._greet()
        return reply

    async def _act(self, route: str, given: Fields, timeout_ms: Optional[float], signal: Optional[Signal]) -> Fields:
        """Acts are sent one after the other, each under its order: the service takes one that a later one has overtaken for a repetition."""
        before, done = self._before, Signal()
        self._before = done
        self._order += 1
        numbered = {**given, "order": self._order, "tab": self._tab}
        ms = self._timeout_ms if timeout_ms is None else timeout_ms

        async def send(whole: Signal) -> Fields:
            if not before.aborted:
                turn = Signal()
                before.listen(turn.abort)
                whole.listen(turn.abort)
                await stopped(turn)
            if whole.aborted:
                return failure("timeout")
            return await self._sender.once(route, numbered, self._identity.credential(), whole)

        try:
            return await self._sender.repeat(True, ms, [signal, self._closed], send)
        finally:
            if before.aborted:
                done.abort()
            else:
                before.listen(done.abort)

    def _greet(self) -> None:
        for watch in self._watches[:]:
            watch.greet()

    def _changed(self) -> None:
        """Continues operations and watches as the new caller."""
        self._outbox.resume()
        self._greet()

    async def _signed_in(self, reply: Fields, is_own: bool, moved_from: Optional[str] = None) -> Fields:
        if reply.get("sessionToken"):
            await self._identity.signed_in(reply, is_own, moved_from)
            self._changed()
        return reply

    # The calls that change the caller.

    async def _accounts_resolve(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        return await self._repeat(route, given, ms, signal, by=self._identity.install)

    async def _sessions_login(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        reply = await self._repeat(route, {**given, "session": "token"}, ms, signal, by=self._identity.install)
        return await self._signed_in(reply, True)

    async def _sessions_logout(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        return self._left(await self._repeat(route, given, ms, signal), False)

    async def _accounts_delete(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        reply = await self._repeat(route, given, ms, signal, by=self._identity.install)
        return self._left(reply, not given.get("token"))

    def _left(self, reply: Fields, is_deleted: bool) -> Fields:
        # The first of the two answers to a deletion has a `confirm`, and ends nothing.
        if "confirm" not in reply if reply["ok"] else reply["error"]["code"] == "account_deleted":
            self._identity.signed_out(is_deleted)
            self._changed()
        return reply

    async def _sessions_end(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        by, tries = self._counted()
        reply = await self._repeat(route, given, ms, signal, by=by)
        # If a session ends itself and the answer is lost, the repetition is refused with `session_required`.
        if reply.get("current") if reply["ok"] else len(tries) > 1 and reply["error"]["code"] == "session_required":
            self._identity.signed_out()
            self._changed()
        return reply

    async def _signIns_add(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        return await self._repeat(route, given, ms, signal, try_ms=PROVIDER_MS)

    def _counted(self) -> Tuple[Callable[[], Credential], List[int]]:
        """The caller, and a list with an entry for each try."""
        tries: List[int] = []

        def by() -> Credential:
            tries.append(1)
            return self._identity.credential()

        return by, tries

    # A removed sign-in ends its sessions, the caller's own among them if it began with it.
    _signIns_remove = _sessions_end

    async def _store_provision(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        owner = self._identity.owner()
        by, tries = self._counted()
        reply = await self._repeat(route, {**given, "session": "token"}, ms, signal, by=by, try_ms=PROVIDER_MS)
        # If the answer was lost, the guest may already have moved. The repetition then answers with neither `moved` nor `notMoved`.
        is_moved = reply.get("moved") or (len(tries) > 1 and not reply.get("notMoved") and owner != f"a{reply.get('accountId')}")
        return await self._signed_in(reply, False, owner if is_moved else None)

    async def _pairing_open(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        return await self._repeat(route, {**given, "session": "token"}, ms, signal, by=dict)

    async def _pairing_status(self, route: str, given: Fields, ms: Optional[float], signal: Optional[Signal]) -> Fields:
        secret = given.get("secret")
        asked = {field: value for field, value in given.items() if field != "secret"}
        by: Credential = {"x-pair-secret": secret} if secret else {}
        return await self._signed_in(await self._repeat(route, asked, ms, signal, by=lambda: by), False)


def _guard(callback: Optional[Callable[[Any], None]]) -> Callable[[Any], None]:
    return lambda value: guarded(callback, value)


def _with_tags(given: Fields) -> Fields:
    """The query parameters of a list of rooms: one for each tag."""
    query = {field: value for field, value in given.items() if field != "tags" and value is not None}
    return {**query, **{f"tag.{tag}": value for tag, value in (given.get("tags") or {}).items()}}


def _snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: "_" + found[1].lower(), name)
