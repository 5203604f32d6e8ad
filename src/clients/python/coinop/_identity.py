"""The caller: the stored install and its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

from ._request import Credential, Fields, compact
from ._store import random_text
from ._time import spawn
from .calls import ROUTES

if TYPE_CHECKING:
    from .client import Client

HOUR_MS = 3_600_000
ASK_MS = 24 * HOUR_MS
"""How often the client asks about the session, which lives 30 days, and whose token the service renews after half of that."""

Owner = str
"""Who made an operation: `i` and an installId, `a` and an account id, or `s` and the token of a session whose account is not known yet."""


def by_token(token: str) -> Credential:
    return {"authorization": f"Bearer {token}"}


def by_install(install_id: str) -> Credential:
    return {"x-install-id": install_id}


class Identity:
    def __init__(self, client: "Client", given: Optional[str]) -> None:
        self._client = client
        self._store = client._store
        self._key = f"{client._name}:me"
        self._given = given
        self._asked = -float(HOUR_MS)
        self._known: Optional[Dict[str, Any]] = None
        """The caller as this client last read or wrote it, because somebody may empty the store meanwhile."""

    def load(self) -> Dict[str, Any]:
        """The stored caller, or a new install."""
        me = self._store.load(self._key)
        if isinstance(me, dict) and isinstance(me.get("installId"), str) and me["installId"] == (self._given or me["installId"]):
            self._known = me
            return me
        if self._known and self._key not in self._store.unread:
            self._client._warn("coinop: the store was emptied")
        return self._save(self._known or {"installId": self._given or random_text()})

    def _save(self, me: Dict[str, Any]) -> Dict[str, Any]:
        self._known = {name: value for name, value in me.items() if value is not None}
        self._store.put(self._key, compact(self._known))
        return self._known

    async def _renew(self, token: str) -> None:
        self._asked = self._client._clock.now()
        reply = await self._client._repeat(ROUTES["sessions.current"], {}, None, None, by=lambda: by_token(token))
        me = self.load()
        # The result is dropped if another sign-in or sign-out came in the meantime.
        if reply.get("accountId") and me.get("sessionToken") == token:
            moved = {**me.get("moved", {}), **({} if me.get("accountId") else {f"s{token}": reply["accountId"]})}
            session = {"accountId": reply["accountId"], "sessionToken": reply.get("sessionToken", token)}
            self._save({**me, **session, "askedAt": self._client._clock.wall(), "moved": moved})

    def install(self) -> Credential:
        return by_install(self.load()["installId"])

    def credential(self) -> Credential:
        """The headers that name the caller."""
        me = self.load()
        token = me.get("sessionToken")
        if not token:
            return by_install(me["installId"])
        # By two clocks: if that of the device jumps, in either direction, that costs one more request and no delay.
        if abs(self._client._clock.wall() - me.get("askedAt", 0)) > ASK_MS and self._client._clock.now() - self._asked >= HOUR_MS:
            spawn(self._renew(token))
            self._asked = self._client._clock.now()
        return by_token(token)

    def owner(self) -> Owner:
        me = self.load()
        if not me.get("sessionToken") or me.get("isOwn"):
            return f"i{me['installId']}"
        return f"a{me['accountId']}" if me.get("accountId") else f"s{me['sessionToken']}"

    def credential_of(self, owner: Owner) -> Optional[Credential]:
        """The headers for an operation of this owner. None: it can only be sent after a sign-in."""
        me = self.load()
        into = me.get("moved", {}).get(owner) or (owner[1:] if owner[0] == "a" else None)
        if not into:
            return (by_token if owner[0] == "s" else by_install)(owner[1:])
        return by_token(me["sessionToken"]) if me.get("sessionToken") and me.get("accountId") == into else None

    async def signed_in(self, reply: Fields, is_own: bool, moved_from: Optional[Owner] = None) -> None:
        """Keeps the session of a sign-in. `moved_from`: the owner whose guest moved into the account by it."""
        me = self.load()
        account = reply.get("accountId")
        moved = {**me.get("moved", {}), **({moved_from: account} if moved_from else {})}
        asked_at = self._client._clock.wall() if account else None
        session = {"sessionToken": reply["sessionToken"], "accountId": account, "isOwn": is_own, "askedAt": asked_at, "moved": moved}
        self._save({"installId": me["installId"], **session})
        if not account:
            await self._renew(reply["sessionToken"])

    def signed_out(self, is_deleted: bool = False) -> None:
        """Forgets the session. An install whose account moved or was deleted gives no access any more: the client makes a new one."""
        me = self.load()
        is_over = is_deleted or f"i{me['installId']}" in me.get("moved", {})
        self._save({"installId": random_text() if is_over and not self._given else me["installId"], "moved": me.get("moved")})
