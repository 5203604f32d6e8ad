"""The unfinished coin operations and purchases.

Each is stored before it is sent. They are sent one after the other, in the order of the calls, each under the same idempotency key until the
service has answered.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ._identity import Owner
from ._request import TRY_MS, Fields, backoff, compact, failure, stopped_by
from ._room import guarded
from ._store import random_text
from ._time import Signal, Stopped, is_aborted, limited, settle, sleep, spawn
from .calls import ROUTES

if TYPE_CHECKING:
    from .client import Client

OPERATIONS = {name.split(".")[1]: ROUTES[name] for name in ("coins.credit", "coins.purchase", "coins.debit", "purchases.buy")}
PURCHASE_MS = 20_000
"""The most milliseconds of a try for which the service asks the app store, which takes up to 17 s."""
DEFINITE = (400, 403, 409, 410, 413, 422)
"""The statuses of a final refusal: nothing was changed, and the same operation would be refused again."""


class _Own(NamedTuple):
    operation: Fields
    owner: Owner
    done: "asyncio.Future[Fields]"


class Outbox:
    def __init__(self, client: "Client", on_operation: Optional[Callable[..., object]], on_purchase: Optional[Callable[..., object]]) -> None:
        self._client = client
        self._store = client._store
        self._prefix = f"{client._name}:op:"
        self._on_operation = on_operation
        self._on_purchase = on_purchase
        self._own: Dict[str, _Own] = {}
        """The operations that this client has made. It finishes them even if the store loses them."""
        self._queue: List[str] = []
        self._held: List[str] = []
        self._held_owners: List[Owner] = []
        self._has_adopted = False
        self._is_running = False
        self._tries = 0
        self._last_stamp = 0
        self._last_failure: Optional[Fields] = None
        self._retry: Optional["asyncio.Task[Any]"] = None
        self._waking = Signal()
        self._client._closed.listen(self._end)

    def _end(self) -> None:
        for own in list(self._own.values()):
            settle(own.done, {**failure("aborted"), "pending": True})

    def _remove(self, key: str) -> None:
        self._own.pop(key, None)
        self._store.put(key)

    def _adopt(self) -> None:
        """Takes over the operations of the store that this client does not know, from an earlier start."""
        self._has_adopted = True
        known = {*self._queue, *self._held, *self._own}
        for key in self._store.keys(self._prefix):
            if key not in known:
                self._queue.append(key)
            # New operations come after the stored ones, even if the clock was ahead when one of these was made.
            stamp = key[len(self._prefix) : -24]
            if re.fullmatch("[0-9]{15}", stamp):
                self._last_stamp = max(self._last_stamp, int(stamp))
        self._queue.sort()

    def _entry(self, key: str) -> Optional[Tuple[Fields, Owner]]:
        own = self._own.get(key)
        if own:
            return own.operation, own.owner
        text = self._store.get(key)
        if text is None:
            return None
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            operation, owner = json.loads(text)
            if operation["type"] in OPERATIONS and re.fullmatch("[ais][!-~]+", owner):
                return operation, owner
        # The store was damaged, or another program wrote the entry.
        self._remove(key)
        return None

    async def _finish(self, key: str) -> Optional[Fields]:
        """Sends one operation. Returns the failure after which it has to be sent again."""
        entry = self._entry(key)
        if entry is None:
            return None
        operation, owner = entry
        own = self._own.get(key)
        given = dict(operation)
        kind = given.pop("type")
        credential = None if owner in self._held_owners else self._client._identity.credential_of(owner)
        try_ms = PURCHASE_MS if kind == "buy" else TRY_MS
        result = await self._client._once(OPERATIONS[kind], given, credential, self._client._closed, try_ms)
        if result["ok"] and "balanceAfterCoins" not in result:
            # Another server has answered.
            return failure("not_coinop")
        status = result.get("status")
        # `bad_token` is final too: the app store does not know the purchase, and another caller would not change that.
        if result["ok"] or status in DEFINITE or result["error"]["code"] == "bad_token":
            self._remove(key)
        elif status == 401:
            self._held_owners.append(owner)
            self._held.append(key)
            result = {**result, "pending": True}
        elif kind == "buy" and status:
            # The app store is down, or the catalogue lacks the product. Coin operations must not wait for that.
            self._own.pop(key, None)
            result = {**result, "pending": True}
            self._retry = self._retry or spawn(self._later())
        else:
            return result
        if own:
            settle(own.done, result)
        guarded(self._on_purchase if kind == "buy" else self._on_operation, operation, result)
        return None

    async def _later(self) -> None:
        await sleep(self._client._clock, 60_000, self._client._closed)
        self._retry = None
        self.wake()

    async def _run(self) -> None:
        """Finishes the operations one after the other."""
        while not self._client._closed.aborted:
            if not self._has_adopted:
                self._adopt()
            if not self._queue:
                break
            key = self._queue[0]
            self._last_failure = await self._finish(key)
            if self._last_failure is None:
                self._queue.remove(key)
                self._tries = 0
            else:
                self._waking = Signal()
                wait = backoff(self._tries, self._last_failure["error"], 15_000)
                self._tries += 1
                await sleep(self._client._clock, wait, self._waking, self._client._closed)
        self._is_running = False

    def _start(self) -> None:
        if not self._is_running and not self._client._closed.aborted:
            self._is_running = True
            spawn(self._run())

    def wake(self) -> None:
        """Tries again at once, and takes over what an earlier start has left."""
        self._has_adopted = False
        self._waking.abort()
        self._start()

    def resume(self) -> None:
        """Tries the operations again that waited for a sign-in."""
        self._queue = sorted([*self._queue, *self._held])
        self._held = []
        self._held_owners = []
        self.wake()

    def discard_held(self) -> None:
        for key in self._held:
            self._remove(key)
        self._held = []

    async def operate(self, kind: str, given: Fields, signal: Optional[Signal], timeout_ms: float) -> Fields:
        """Keeps an operation, and sends it. When the time is up it goes on, and the result has `pending`."""
        if is_aborted([signal, self._client._closed]):
            return failure("aborted")
        if not self._has_adopted:
            self._adopt()
        # The time in the key rises even if the clock is set back, so that the keys keep the order of the operations.
        self._last_stamp = max(self._last_stamp + 1, int(self._client._clock.wall()))
        # The app store's own id makes a purchase unique.
        unique = {} if kind == "buy" else {"key": given["key"] if given.get("key") is not None else random_text()}
        operation = {**given, **unique, "type": kind}
        key = f"{self._prefix}{max(self._last_stamp, 0):015d}{random_text()}"
        owner = self._client._identity.owner()
        done: "asyncio.Future[Fields]" = asyncio.get_running_loop().create_future()
        text = compact([operation, owner])
        self._own[key] = _Own(operation, owner, done)
        self._store.put(key, text)
        self._queue.append(key)
        self._start()

        try:
            return await limited(self._client._clock, timeout_ms, [signal], lambda: asyncio.shield(done))
        except Stopped:
            last = None if is_aborted([signal]) else self._last_failure
            return {**(last or stopped_by([signal])), "pending": True}
