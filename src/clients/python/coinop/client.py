"""The client of one service for one player, for asyncio. `coinop.plain` has the same without asyncio."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Callable, Dict, List, Mapping, Optional
from urllib.parse import quote
import warnings

from ._identity import Identity
from ._outbox import OPERATIONS, Outbox
from ._request import TRY_MS, UNCLEAR, Credential, Fields, answer_of, backoff, compact, component, failure, is_temporary, stopped_by
from ._room import PlayedRoom, guarded
from ._saves import OnConflict, Saves
from ._store import SafeStore, Store, random_text
from ._time import Clock, Signal, Stopped, is_aborted, limited, sleep, within
from ._transport import Transport
from ._watch import Watch, Watched, WatchedAccount, WatchedList, WatchedPairing, WatchedRoom
from .calls import ROUTES, Calls

SAME_SEAT_MS = 10_000
"""For so long the service gives the same caller the same seat of a match. A later repetition could take a second seat."""
PROVIDER_MS = 12_000
"""The most milliseconds of a try for which the service asks a provider of sign-ins, which takes up to 10 s."""
ACTS = frozenset("leave ready state kick unready lock unlock rematch start settings data private transfer end".split())
MOST_LISTED = 50

BY_INSTALL = ("accounts.resolve", "accounts.delete", "sessions.login")
BY_NOBODY = ("rooms.list", "pairing.open", "pairing.status")
"""A status is read by the secret of the pairing."""
OF_PROVIDER = ("signIns.add", "store.provision")
WITH_SESSION = ("sessions.login", "store.provision", "pairing.open")
"""Of these the service gives the session in the answer, and not in a cookie."""
GIVES_SESSION = ("sessions.login", "store.provision", "pairing.status")

By = Callable[[], Credential]
OnNews = Optional[Callable[[Any], None]]
OnResult = Optional[Callable[[Fields, Fields], object]]


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
        on_operation: OnResult = None,
        on_purchase: OnResult = None,
        on_warning: Callable[[str], object] = warnings.warn,
        device: Optional[str] = None,
        on_conflict: Optional[OnConflict] = None,
        on_saved: OnResult = None,
        transport: Optional[Transport] = None,
        clock: Optional[Clock] = None,
        sockets: bool = True,
    ) -> None:
        self._base = url.rstrip("/")
        if not re.fullmatch(r"https?://[^/?#@\s]+", self._base):
            raise ValueError(f"Bad url: {self._base}")
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
        self._store = SafeStore(store, self._warn)
        self._identity = Identity(self, install_id)
        self._outbox = Outbox(self, on_operation, on_purchase)
        self._tab = random_text(16)
        self._order = 0
        self._acting = asyncio.Lock()
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
        self, code: str, on_room: Callable[[Any], None], *, hello: bool = True, on_state: OnNews = None, on_you: OnNews = None, on_error: OnNews = None
    ) -> Watch:
        """Calls back with the whole room, at once and after every change. Do not change it: later rooms share its parts."""
        return self._follow(WatchedRoom(self, code, hello, _guard(on_room), _guard(on_you), _guard(on_error)), on_state)

    def play_room(self, code: str) -> PlayedRoom:
        """Plays in a room in which the player has a seat."""
        return PlayedRoom(self, code)

    async def quick_match(self, *, timeout_ms: Optional[float] = None, signal: Optional[Signal] = None, **wanted: Any) -> Fields:
        """Takes a seat in the oldest open room of `game` with these `tags`, or in a new one. The result has `room` and `created`."""
        ms = min(SAME_SEAT_MS if timeout_ms is None else timeout_ms, SAME_SEAT_MS)
        reply = await self._repeat(ROUTES["rooms.match"], wanted, ms, signal)
        return {"ok": True, "room": self.play_room(reply["room"]["code"]), "created": reply["created"]} if reply["ok"] else reply

    def watch_pairing(self, pairing: Mapping[str, Any], on_status: Callable[[Any], None], *, on_state: OnNews = None) -> Watch:
        """Calls back with each status of a pairing of `pairing.open()`. With `claimed` the client has the session."""
        return self._follow(WatchedPairing(self, pairing, _guard(on_status)), on_state)

    def watch_account(self, on_account: Callable[[Any], None], *, on_state: OnNews = None) -> Watch:
        """Calls back with the player's balance and entitlement, at once and after every change, whoever made it."""
        return self._follow(WatchedAccount(self, _guard(on_account)), on_state)

    def watch_board(self, game: str, on_top: Callable[[Any, Any], None], *, on_state: OnNews = None) -> Watch:
        """Calls back with the ten best scores of a game and its season, or None, at once and after changes."""
        path = f"/v1/highscores/{component(game)}/live"
        return self._follow(WatchedList(self, path, ["top", "season"], "highscores.top", {"game": game}, _guard(on_top)), on_state)

    def watch_lobby(
        self, on_rooms: Callable[[Any], None], *, game: Optional[str] = None, tags: Optional[Fields] = None, on_state: OnNews = None
    ) -> Watch:
        """Calls back with the newest 50 open rooms of a game with all of these tags, at once and after changes."""
        query = _with_tags({"game": game, "tags": tags})
        text = "&".join(f"{quote(field)}={component(value)}" for field, value in query.items())
        path = "/v1/lobby/live" + (f"?{text}" if text else "")
        given = {**query, "limit": MOST_LISTED}
        return self._follow(WatchedList(self, path, ["rooms"], "rooms.list", given, _guard(on_rooms), MOST_LISTED), on_state)

    def _follow(self, watched: Watched, on_state: OnNews = None) -> Watch:
        watch = Watch(self, watched, _guard(on_state))
        self._watches.append(watch)
        watch.ended.add_done_callback(lambda _: self._watches.remove(watch))
        return watch

    # How calls are made.

    async def _once(self, route: str, given: Fields, by: Optional[Credential], signal: Optional[Signal], try_ms: float = TRY_MS) -> Fields:
        """Sends a request once. It never raises for the network or the service: every failure is a result.

        `{name}` in the path of the route is replaced by that field; the other fields are the query or the body. by: the headers that name
        the caller. None: only a sign-in can give them.
        """
        if by is None:
            return {**failure("sign_in_required"), "status": 401}
        method, path = route.lstrip("!").split(" ")
        body: Fields = {}
        query = []
        for name, value in given.items():
            if f"{{{name}}}" in path:
                # Else the request would go to another path.
                if value in (None, ""):
                    return failure("invalid_request", f"{name} is missing", field=name)
                path = path.replace(f"{{{name}}}", component(value))
            elif method != "GET":
                body[name] = value
            elif value is not None:
                query.append(f"{name}={component(value)}")
        url = self._base + path + ("?" + "&".join(query) if query else "")
        sent = None if method == "GET" else compact(body)
        headers = by if sent is None else {**by, "content-type": "application/json"}
        try:
            return answer_of(*await limited(self._clock, try_ms, [signal], lambda: self._transport.request(method, url, headers, sent)))
        except Stopped:
            return stopped_by([signal])
        except Exception as error:
            return failure("network", str(error) or type(error).__name__)

    async def _repeat(
        self, route: str, given: Fields, timeout_ms: Optional[float], signal: Optional[Signal], by: Optional[By] = None, try_ms: float = TRY_MS
    ) -> Fields:
        """Repeats a request until it has an answer, the time is up, or a signal aborts."""
        wait_ms = 1000 * (given.get("wait") or 0)
        ms = self._timeout_ms + wait_ms if timeout_ms is None else timeout_ms
        signals = [signal, self._closed]
        credential = by or self._identity.credential

        async def work(whole: Signal) -> Fields:
            last: Optional[Fields] = None
            tries = 0
            while True:
                result = await self._once(route, given, credential(), whole, try_ms + wait_ms)
                if result["ok"]:
                    return result
                # When the time is up, the last failure from the service tells more than `timeout`.
                if whole.aborted:
                    return last if last is not None and not is_aborted(signals) else stopped_by(signals)
                last = result
                error = result["error"]
                if not is_temporary(error) or (route.startswith("!") and ("outcome" in error or error["code"] in UNCLEAR)):
                    return result
                await sleep(self._clock, backoff(tries, error), whole)
                tries += 1

        return await within(self._clock, ms, signals, work)

    async def _call(self, name: str, given: Fields, timeout_ms: Optional[float] = None, signal: Optional[Signal] = None) -> Fields:
        """Makes the call of a name, such as `coins.credit`."""
        feature, call = name.split(".")
        route = ROUTES[name]
        if OPERATIONS.get(call) == route:
            return await self._outbox.operate(call, given, signal, self._timeout_ms if timeout_ms is None else timeout_ms)
        if feature == "rooms" and call in ACTS:
            return await self._act(route, given, timeout_ms, signal)
        owner = self._identity.owner() if name == "store.provision" else ""
        asked = {field: value for field, value in given.items() if (name, field) != ("pairing.status", "secret")}
        if name in WITH_SESSION:
            asked["session"] = "token"
        tries = 0

        def by() -> Credential:
            nonlocal tries
            tries += 1
            if name in BY_NOBODY:
                return {"x-pair-secret": given["secret"]} if given.get("secret") else {}
            return self._identity.install() if name in BY_INSTALL else self._identity.credential()

        try_ms = PROVIDER_MS if name in OF_PROVIDER else TRY_MS
        reply = await self._repeat(route, _with_tags(asked) if name == "rooms.list" else asked, timeout_ms, signal, by, try_ms)
        await self._follow_caller(name, given, reply, owner, tries > 1)
        return reply

    async def _follow_caller(self, name: str, given: Fields, reply: Fields, owner: str, is_repeated: bool) -> None:
        """Does what an answer means for the caller. owner: who provided the sign-in of a store."""
        is_over = False
        if name == "rooms.join":
            # The player of a new seat is shown as connected only after a hello on the channel.
            self._greet()
        elif name in GIVES_SESSION and reply.get("sessionToken"):
            # If the answer was lost, the guest may already have moved. The repetition then answers with neither `moved` nor `notMoved`.
            moved_unseen = is_repeated and not reply.get("notMoved") and owner != f"a{reply.get('accountId')}"
            is_moved = name == "store.provision" and (reply.get("moved") or moved_unseen)
            await self._identity.signed_in(reply, name == "sessions.login", owner if is_moved else None)
            self._changed()
        elif name in ("sessions.logout", "accounts.delete"):
            # The first of the two answers to a deletion has a `confirm`, and ends nothing.
            is_over = "confirm" not in reply if reply["ok"] else reply["error"]["code"] == "account_deleted"
        elif name in ("sessions.end", "signIns.remove"):
            # A removed sign-in ends its sessions, the caller's own among them if it began with it. If a session ends itself and the answer
            # is lost, the repetition is refused with `session_required`.
            is_over = bool(reply.get("current")) if reply["ok"] else is_repeated and reply["error"]["code"] == "session_required"
        if is_over:
            self._identity.signed_out(name == "accounts.delete" and not given.get("token"))
            self._changed()

    async def _act(self, route: str, given: Fields, timeout_ms: Optional[float], signal: Optional[Signal]) -> Fields:
        """Acts are sent one after the other, each under its order: the service takes one that a later one has overtaken for a repetition."""
        self._order += 1
        numbered = {**given, "order": self._order, "tab": self._tab}
        signals = [signal, self._closed]
        until = self._clock.now() + (self._timeout_ms if timeout_ms is None else timeout_ms)
        try:
            await limited(self._clock, until - self._clock.now(), signals, self._acting.acquire)
        except Stopped:
            return stopped_by(signals)
        try:
            return await self._repeat(route, numbered, until - self._clock.now(), signal)
        finally:
            self._acting.release()

    def _greet(self) -> None:
        for watch in self._watches[:]:
            watch.greet()

    def _changed(self) -> None:
        """Continues operations and watches as the new caller."""
        self._outbox.resume()
        self._greet()


def _guard(callback: Optional[Callable[..., object]]) -> Callable[..., None]:
    return lambda *values: guarded(callback, *values)


def _with_tags(given: Fields) -> Fields:
    """The query parameters of a list of rooms: one for each tag."""
    query = {field: value for field, value in given.items() if field != "tags" and value is not None}
    return {**query, **{f"tag.{tag}": value for tag, value in (given.get("tags") or {}).items()}}
