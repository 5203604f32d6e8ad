"""The saves of a player: what a game keeps under a name. Nothing is lost on the way, and of each name only the newest is sent."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from ._identity import Owner
from ._request import Credential, Fields, backoff, compact, failure, is_temporary
from ._room import guarded
from ._time import Signal, Stopped, limited, sleep, spawn
from .calls import ROUTES, SavesCalls

if TYPE_CHECKING:
    from .client import Client

CALL_MS = 15_000
MOST_SENT = 16
"""The most texts of unknown outcome that are remembered."""
LOAD = ROUTES["saves.load"]

OnConflict = Callable[[Fields, Fields, Fields], Any]
"""`(mine, theirs, of)` → the data to keep, or an awaitable of it. `mine` and `theirs` have `data`, and what the service says of a save."""


class Saves(SavesCalls):
    """The saves of the client's player. `on_conflict` and `on_saved` are options of the client."""

    def __init__(self, client: "Client", device: Optional[str], on_conflict: Optional[OnConflict], on_saved: Optional[Callable[..., object]]) -> None:
        super().__init__(client._call)
        self._client = client
        self._store = client._store
        self._prefix = f"{client._name}:save:"
        self._device = device
        self._on_conflict = on_conflict
        self._on_saved = on_saved
        self._results: Dict[str, Fields] = {}
        """The last result of each save, for calls whose data a newer call has replaced."""
        self._known: Dict[str, int] = {}
        """The version of each save that this start has got or made. A new save is based on it. So a later version, such as a merge in the
        background, is in conflict with what the game makes without it."""
        self._turns: Dict[str, "asyncio.Task[Optional[Fields]]"] = {}
        self._waiting = False
        self._tries = 0
        self.wake()

    def wake(self) -> None:
        """Sends all saves that wait."""
        spawn(self._flush_all())

    async def save(self, *, game: str, name: str, data: Any) -> Fields:
        """Keeps data as the newest save of the name, and sends it, later if the service does not answer (`pending`).

        Continue with the `data` of the result: after a conflict it is the merge.
        """
        key, owner = self._key(game, name)
        version = self._known.get(key)
        self._known[key] = version or 0
        # What an earlier start has sent is not part of a save that this one makes without a load.
        sent = [] if version is None else self._kept(key).get("sent", [])
        self._put(key, {"owner": owner, "game": game, "name": name, "version": version or 0, "sent": sent, "text": compact(data)})

        result: Optional[Fields] = {**failure("timeout"), "pending": True}
        with suppress(Stopped):
            result = await limited(self._client._clock, CALL_MS, [], lambda: asyncio.shield(self._flush(key)))
        now = self._kept(key)
        if not result:
            return {"ok": True, "version": now.get("version", 0), "updatedAt": now.get("updatedAt", ""), "data": data}
        if result["ok"]:
            self._has(key, result["version"])
        return {**result, "data": self._give(key, now)} if "pending" in result and "text" in now else result

    async def load(self, *, game: str, name: str, timeout_ms: Optional[float] = None, signal: Optional[Signal] = None) -> Fields:
        """Reads a save. One that waits to be sent is sent first, and given (`pending`) while the service does not answer."""
        key, owner = self._key(game, name)
        before = self._known.get(key)
        if "text" in self._kept(key):
            await self._flush(key)
        kept = self._kept(key)
        of = {"game": game, "name": name}
        reply = await self._client._repeat(LOAD, of, timeout_ms, signal)
        is_none = not reply["ok"] and reply["error"]["code"] == "save_not_found"
        is_kept = "text" in kept and (reply["ok"] or is_none or is_temporary(reply["error"]))
        version = kept["version"] if is_kept else reply["version"] if reply["ok"] else 0 if is_none else None
        # The game may have made a save meanwhile, which is newer than what was loaded.
        if version is not None and self._known.get(key) == before:
            self._known[key] = version
        if is_kept:
            return {"ok": True, "name": name, "version": kept["version"], "data": self._give(key, kept), "pending": True}
        if not reply["ok"] or "other" not in reply:
            return reply
        found = await self._client._repeat(LOAD, {**of, "version": reply["other"]["version"]}, timeout_ms, signal)
        if not found["ok"]:
            return reply
        text = compact(await self._merged(_saved(reply), _saved(found), of))
        merge = {"owner": owner, **of, "version": reply["version"], "sent": [], "text": text, "isMerge": True}
        if "text" not in self._kept(key):
            self._put(key, merge)
        settled = await self._flush(key)
        if settled and settled["ok"]:
            self._has(key, settled["version"])
        if settled and "pending" not in settled:
            return {**settled, "name": name}
        return {"ok": True, "name": name, "version": reply["version"], "data": self._give(key, merge), "pending": True}

    def _key(self, game: str, name: str) -> Tuple[str, Owner]:
        owner = self._client._identity.owner()
        return f"{self._prefix}{_mark(owner)}:{game}/{name}", owner

    def _kept(self, key: str) -> Dict[str, Any]:
        """What the store keeps of a save: `text` is what waits to be sent, `sent` marks texts whose outcome is not known, without merges,
        and `isMerge` says that the game does not have the text yet."""
        kept = self._store.load(key)
        return kept if isinstance(kept, dict) else {}

    def _put(self, key: str, kept: Dict[str, Any]) -> None:
        self._store.put(key, compact({field: value for field, value in kept.items() if value is not None}))

    def _has(self, key: str, version: int) -> None:
        """Notes a version that the game has."""
        if key in self._known:
            self._known[key] = max(version, self._known[key])

    def _give(self, key: str, kept: Dict[str, Any]) -> Any:
        """Gives the game what waits."""
        self._has(key, kept["version"])
        now = self._kept(key)
        if now.get("text") == kept["text"]:
            self._put(key, {**now, "isMerge": False})
        return json.loads(kept["text"])

    async def _merged(self, mine: Fields, theirs: Fields, of: Fields) -> Any:
        if self._on_conflict is None:
            return mine["data"]
        data = self._on_conflict(mine, theirs, of)
        return await data if inspect.isawaitable(data) else data

    async def _send_once(self, key: str, kept: Dict[str, Any], credential: Credential) -> Optional[Fields]:
        """Sends what is kept under the key once. None: something newer is kept."""
        of = {"game": kept["game"], "name": kept["name"]}
        text, is_merge = kept["text"], bool(kept.get("isMerge"))
        data = json.loads(text)
        if not is_merge:
            mark = _mark(text)
            self._put(key, {**kept, "sent": [*(other for other in kept["sent"] if other != mark), mark][-MOST_SENT:]})
        device = {"device": self._device} if self._device else {}
        given = {**of, "data": data, "ifVersion": kept["version"], **device}
        result = await self._client._once(ROUTES["saves.save"], given, credential, self._client._closed)
        # The next start of the game sends it again: its client may have begun already.
        if self._client._closed.aborted:
            return failure("aborted")

        def settle(outcome: Dict[str, Any]) -> bool:
            """Notes the outcome and what there is to send, unless the game has made a newer save. Returns whether nothing waits."""
            latest = self._kept(key) or kept
            if latest.get("text") == text:
                latest = {**latest, "text": None, **outcome, "sent": []}
            elif result["ok"] and not is_merge:
                latest = {**latest, "version": result["version"], "sent": []}
            self._put(key, latest)
            return latest.get("text") is None

        if result["ok"]:
            if not is_merge:
                self._has(key, result["version"])
            return {**result, "data": data} if settle({"version": result["version"], "updatedAt": result["updatedAt"]}) else None
        error = result["error"]
        if error["code"] == "stale_save":
            # An earlier save of this device stands, whose answer was lost. Or the save was deleted elsewhere: then this one begins anew.
            is_own = error["version"] == 0 or _mark(compact(error.get("data"))) in kept["sent"]
            # A newer save meets the conflict itself.
            if self._kept(key).get("text") != text:
                return None
            left = text if is_own else compact(await self._merged({"data": data}, _saved(error), of))
            settle({"version": error["version"], "text": left, "isMerge": is_merge or left != text})
            return None
        if _may_pass(result):
            return result
        return result if settle({}) else None

    async def _send(self, key: str) -> Optional[Fields]:
        """Sends the save, and any newer one that is made meanwhile, until the service has the newest or does not answer."""
        while True:
            kept = self._kept(key)
            if "text" not in kept:
                return self._results.get(key)
            if self._client._closed.aborted:
                return {**failure("aborted"), "pending": True}
            credential = self._client._identity.credential_of(kept["owner"])
            result: Optional[Fields] = {**failure("sign_in_required"), "status": 401}
            if credential is not None:
                result = await self._send_once(key, kept, credential)
            if result is None:
                continue
            waits = not result["ok"] and _may_pass(result)
            if waits:
                result = {**result, "pending": True, "data": json.loads(kept["text"])}
                spawn(self._retry(result["error"]))
            else:
                self._tries = 0
            self._results[key] = result
            if self._on_saved and waits:
                self._give(key, kept)
            if self._on_saved and result["ok"]:
                self._has(key, result["version"])
            guarded(self._on_saved, {"game": kept["game"], "name": kept["name"]}, result)
            return result

    def _flush(self, key: str) -> "asyncio.Task[Optional[Fields]]":
        """Sends after all earlier ones of the key."""
        before = self._turns.get(key)

        async def turn() -> Optional[Fields]:
            if before:
                await asyncio.wait([before])
            return await self._send(key)

        task: "asyncio.Task[Optional[Fields]]" = spawn(turn())
        self._turns[key] = task
        return task

    async def _flush_all(self) -> None:
        for key in self._store.keys(self._prefix):
            await self._flush(key)

    async def _retry(self, error: Fields) -> None:
        """Sends all saves again after a while."""
        if self._waiting:
            return
        self._waiting = True
        wait = backoff(self._tries, error, 60_000)
        self._tries += 1
        await sleep(self._client._clock, wait, self._client._closed)
        self._waiting = False
        if not self._client._closed.aborted:
            await self._flush_all()


def _saved(reply: Fields) -> Fields:
    return {name: value for name, value in reply.items() if name not in ("ok", "other", "requestId")}


def _may_pass(result: Fields) -> bool:
    """Whether the same save may pass later: no answer, a service that is away, or a player who has to sign in."""
    return not result.get("status") or result["status"] == 401 or is_temporary(result["error"])


def _mark(text: str) -> str:
    """Tells texts apart, and tells nobody an installId."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]
