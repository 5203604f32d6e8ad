"""The calls of the API and their types, made from the OpenAPI document by `npm run build:clients`."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Literal, Optional, TypedDict, Union, cast

from ._time import Signal

API_VERSION = "1"

Caller = Callable[..., Awaitable[Dict[str, Any]]]
PlainCaller = Callable[..., Dict[str, Any]]

ROUTES = {
    "accounts.resolve": "POST /v1/account/resolve",
    "accounts.export": "GET /v1/account/export",
    "accounts.delete": "POST /v1/account/delete",
    "accounts.storeIds": "GET /v1/account/store-ids",
    "sessions.login": "POST /v1/login",
    "sessions.logout": "POST /v1/logout",
    "sessions.current": "GET /v1/session",
    "sessions.list": "GET /v1/sessions",
    "sessions.end": "POST /v1/sessions/end",
    "signIns.list": "GET /v1/account/sign-ins",
    "signIns.nonce": "POST /v1/account/sign-ins/nonce",
    "signIns.add": "!POST /v1/account/sign-ins",
    "signIns.remove": "POST /v1/account/sign-ins/remove",
    "coins.balance": "GET /v1/balance",
    "coins.credit": "POST /v1/coins/credit",
    "coins.purchase": "POST /v1/coins/purchase",
    "coins.debit": "POST /v1/coins/debit",
    "coins.history": "GET /v1/coins/history",
    "highscores.top": "GET /v1/highscores/{game}",
    "highscores.submit": "POST /v1/highscores/{game}",
    "highscores.entries": "GET /v1/highscores/{game}/entries",
    "highscores.around": "GET /v1/highscores/{game}/around",
    "catalogue.list": "GET /v1/catalogue",
    "products.list": "GET /v1/products",
    "purchases.buy": "POST /v1/purchases",
    "purchases.list": "GET /v1/purchases",
    "pairing.open": "POST /v1/pair/new",
    "pairing.claim": "POST /v1/pair/claim",
    "pairing.status": "GET /v1/pair/status",
    "rooms.create": "!POST /v1/rooms",
    "rooms.list": "GET /v1/rooms",
    "rooms.match": "POST /v1/rooms/match",
    "rooms.read": "GET /v1/rooms/{code}",
    "rooms.ticket": "POST /v1/rooms/{code}/ticket",
    "rooms.join": "POST /v1/rooms/{code}/join",
    "rooms.leave": "POST /v1/rooms/{code}/leave",
    "rooms.ready": "POST /v1/rooms/{code}/ready",
    "rooms.unready": "POST /v1/rooms/{code}/unready",
    "rooms.start": "POST /v1/rooms/{code}/start",
    "rooms.end": "POST /v1/rooms/{code}/end",
    "rooms.kick": "POST /v1/rooms/{code}/kick",
    "rooms.transfer": "POST /v1/rooms/{code}/transfer",
    "rooms.lock": "POST /v1/rooms/{code}/lock",
    "rooms.unlock": "POST /v1/rooms/{code}/unlock",
    "rooms.settings": "POST /v1/rooms/{code}/settings",
    "rooms.state": "POST /v1/rooms/{code}/state",
    "rooms.data": "POST /v1/rooms/{code}/data",
    "rooms.private": "POST /v1/rooms/{code}/private",
    "rooms.message": "!POST /v1/rooms/{code}/message",
    "rooms.rematch": "POST /v1/rooms/{code}/rematch",
    "saves.list": "GET /v1/saves/{game}",
    "saves.load": "GET /v1/saves/{game}/{name}",
    "saves.save": "POST /v1/saves/{game}/{name}",
    "saves.delete": "POST /v1/saves/{game}/{name}/delete",
    "trial.touch": "POST /v1/trial/touch",
    "trial.current": "GET /v1/trial/status",
    "trial.link": "POST /v1/trial/link",
    "subscription.current": "GET /v1/subscription",
    "subscription.report": "POST /v1/subscription/report",
    "subscription.purchase": "POST /v1/subscription/purchase",
    "entitlement.current": "GET /v1/entitlement",
    "entitlement.firstRun": "POST /v1/entitlement/first-run",
    "store.provision": "POST /v1/account/store-provision",
    "store.nonce": "GET /v1/account/store-install/nonce",
    "store.install": "!POST /v1/account/store-install",
}


class ResolveAccountReply(TypedDict):
    ok: Literal[True]
    accountId: str
    created: bool


class _ExportAccountReply(TypedDict):
    ok: Literal[True]
    accountId: str


class ExportAccountReply(_ExportAccountReply, total=False):
    account: ExportAccountReplyAccount
    signIns: List[ListedSignIn]
    sessions: List[SignedInBrowser]
    trial: ExportAccountReplyTrial
    gift: ExportAccountReplyGift
    givenName: ExportAccountReplyGivenName
    scores: List[OwnScore]
    seats: List[OwnSeat]
    saves: List[ExportedSave]
    subscriptionReport: ExportAccountReplySubscriptionReport
    purchases: List[RecordedPurchase]
    coinPurchases: List[Purchase]
    balanceCoins: int
    debtCoins: int
    entries: List[ExportedEntry]
    nextCursor: str


class _ExportAccountReplyAccount(TypedDict):
    kind: ExportAccountReplyAccountKind
    guests: List[str]
    signOutsEverywhere: int


class ExportAccountReplyAccount(_ExportAccountReplyAccount, total=False):
    """On the first page, as are `trial`, `subscriptionReport` and `balanceCoins`."""

    createdAt: str
    installVerifiedAt: str
    firstRunAt: str

ExportAccountReplyAccountKind = Literal["guest", "store"]


class ListedSignIn(TypedDict):
    id: str
    provider: str
    at: str
    lastUsedAt: str


class _SignedInBrowser(TypedDict):
    id: str
    kind: SignedInBrowserKind
    createdAt: str
    current: bool


class SignedInBrowser(_SignedInBrowser, total=False):
    lastSeenAt: str
    userAgent: str

SignedInBrowserKind = Literal["login", "pairing", "store"]


class ExportAccountReplyTrial(TypedDict):
    """The trial linked to the account, if there is one."""

    startedAt: str
    device: str


class ExportAccountReplyGift(TypedDict):
    """Access that the people who run the service gave. It is listed even after its end."""

    until: str
    givenAt: str


class ExportAccountReplyGivenName(TypedDict):
    """The name that people who run the service gave in place of the account’s own one."""

    name: str
    givenAt: str


class _OwnScore(TypedDict):
    playerId: str
    name: str
    score: float
    at: str
    game: str


class OwnScore(_OwnScore, total=False):
    archive: int
    season: str


class _OwnSeat(TypedDict):
    code: str
    phase: str
    playerId: str
    name: str
    joinedAt: str


class OwnSeat(_OwnSeat, total=False):
    """A seat in a room."""

    game: str


class _ExportedSave(TypedDict):
    name: str
    version: int
    updatedAt: str
    game: str
    data: Any


class ExportedSave(_ExportedSave, total=False):
    device: str


class ExportAccountReplySubscriptionReport(TypedDict):
    """The last report of the app."""

    subscribed: bool
    at: str


class _RecordedPurchase(TypedDict):
    productId: str
    state: str
    checkedAt: str


class RecordedPurchase(_RecordedPurchase, total=False):
    packageName: str
    expiresAt: str
    willRenew: bool
    isReplaced: bool


class _Purchase(TypedDict):
    purchaseId: str
    store: PurchaseStore
    productId: str
    quantity: int
    coins: int
    state: PurchaseState
    at: str


class Purchase(_Purchase, total=False):
    refundedQuantity: int
    test: bool

PurchaseStore = Literal["google", "apple"]

PurchaseState = Literal["pending", "granted", "refunded"]


class ExportedEntry(TypedDict):
    """As in `GET /v1/coins/history`."""

    id: str
    type: str
    coins: int
    balanceAfterCoins: int
    key: str
    at: str


class _DeleteAccountReply(TypedDict):
    ok: Literal[True]
    deleted: bool
    accountId: str


class DeleteAccountReply(_DeleteAccountReply, total=False):
    confirm: str
    expiresAt: str
    balanceCoins: int
    debtCoins: int
    appleRevoked: bool


class GetStoreIdsReply(TypedDict):
    ok: Literal[True]
    googleAccountId: str
    appleAccountToken: str


class _LoginReply(TypedDict):
    ok: Literal[True]
    accountId: str
    expiresAt: str


class LoginReply(_LoginReply, total=False):
    sessionToken: str


class LogoutReply(TypedDict):
    ok: Literal[True]


class _GetSessionReply(TypedDict):
    ok: Literal[True]
    authenticated: bool


class GetSessionReply(_GetSessionReply, total=False):
    accountId: str
    expiresAt: str
    sessionToken: str
    installVerified: bool


class ListSessionsReply(TypedDict):
    ok: Literal[True]
    sessions: List[SignedInBrowser]


class EndSessionReply(TypedDict):
    ok: Literal[True]
    current: bool


class ListSignInsReply(TypedDict):
    ok: Literal[True]
    signIns: List[SignIn]


class SignIn(TypedDict):
    id: str
    provider: str
    at: str
    current: bool


class StartAddingSignInReply(TypedDict):
    ok: Literal[True]
    nonce: str
    expiresAt: str


class _AddSignInReply(TypedDict):
    ok: Literal[True]
    signIns: List[SignIn]
    added: bool
    merged: bool


class AddSignInReply(_AddSignInReply, total=False):
    movedCoins: int
    movedDebtCoins: int


class RemoveSignInReply(TypedDict):
    ok: Literal[True]
    current: bool


class _GetBalanceReply(TypedDict):
    ok: Literal[True]
    balanceCoins: int


class GetBalanceReply(_GetBalanceReply, total=False):
    debtCoins: int


class _CoinOperationReply(TypedDict):
    ok: Literal[True]
    balanceAfterCoins: int


class CoinOperationReply(_CoinOperationReply, total=False):
    replayed: bool
    balanceCoins: int
    debtCoins: int


class _GetCoinHistoryReply(TypedDict):
    ok: Literal[True]
    entries: List[LedgerEntry]


class GetCoinHistoryReply(_GetCoinHistoryReply, total=False):
    nextCursor: str


class LedgerEntry(TypedDict):
    id: str
    type: LedgerEntryType
    coins: int
    balanceAfterCoins: int
    key: str
    at: str

LedgerEntryType = Literal["credit", "purchase", "debit", "merge", "grant", "adjust", "topup", "refund", "prize"]


class _GetHighscoresReply(TypedDict):
    ok: Literal[True]
    game: str
    top: List[HighscoreEntry]


class GetHighscoresReply(_GetHighscoresReply, total=False):
    you: Optional[OwnHighscoreEntry]
    season: BoardSeason


class HighscoreEntry(TypedDict):
    rank: int
    playerId: str
    name: str
    score: float
    at: str


class OwnHighscoreEntry(TypedDict):
    """The entry of the caller: `null` without a score."""

    rank: int
    playerId: str
    name: str
    score: float
    at: str


class BoardSeason(TypedDict):
    id: str
    endsAt: str


class _SubmitScoreReply(TypedDict):
    ok: Literal[True]
    rank: int
    best: float
    personalBest: bool
    top: List[HighscoreEntry]


class SubmitScoreReply(_SubmitScoreReply, total=False):
    season: BoardSeason


class _ListHighscoresReply(TypedDict):
    ok: Literal[True]
    game: str
    entries: List[HighscoreEntry]


class ListHighscoresReply(_ListHighscoresReply, total=False):
    nextCursor: str
    season: BoardSeason


class _GetHighscoresAroundReply(TypedDict):
    ok: Literal[True]
    game: str
    you: Optional[OwnHighscoreEntry]
    entries: List[HighscoreEntry]


class GetHighscoresAroundReply(_GetHighscoresAroundReply, total=False):
    season: BoardSeason


class GetCatalogueReply(TypedDict):
    ok: Literal[True]
    apps: List[CatalogueEntry]
    count: int


class _CatalogueEntry(TypedDict):
    id: str
    kind: CatalogueEntryKind
    name: str
    tagline: str
    icon: str
    url: str
    status: CatalogueEntryStatus
    platforms: List[CataloguePlatform]
    updatedAt: str


class CatalogueEntry(_CatalogueEntry, total=False):
    features: List[str]
    order: CatalogueEntryOrder
    scores: CatalogueEntryScores
    season: CatalogueSeason

CatalogueEntryKind = Literal["app", "game"]

CatalogueEntryStatus = Literal["live", "beta", "soon"]


class _CataloguePlatform(TypedDict):
    platform: str
    url: str


class CataloguePlatform(_CataloguePlatform, total=False):
    packageName: str

CatalogueEntryOrder = Literal["asc", "desc"]

CatalogueEntryScores = Literal["client", "server"]


class _CatalogueSeason(TypedDict):
    period: CatalogueSeasonPeriod


class CatalogueSeason(_CatalogueSeason, total=False):
    payAfterSeconds: int
    keep: int
    prizes: List[SeasonPrize]

CatalogueSeasonPeriod = Literal["daily", "weekly", "monthly"]


class SeasonPrize(TypedDict):
    upTo: int
    coins: int


class ListProductsReply(TypedDict):
    ok: Literal[True]
    products: List[Product]
    count: int


class _Product(TypedDict):
    productId: str
    coins: int
    stores: ProductStores


class Product(_Product, total=False):
    name: str


class ProductStores(TypedDict, total=False):
    """The product's id in each app store that sells it."""

    google: str
    apple: str

PurchasesBuyStore = Literal["google", "apple"]


class _PurchaseProductReply(TypedDict):
    ok: Literal[True]
    purchase: Purchase
    balanceAfterCoins: int


class PurchaseProductReply(_PurchaseProductReply, total=False):
    replayed: bool
    balanceCoins: int
    debtCoins: int


class _ListPurchasesReply(TypedDict):
    ok: Literal[True]
    purchases: List[Purchase]


class ListPurchasesReply(_ListPurchasesReply, total=False):
    nextCursor: str


class _OpenPairingReply(TypedDict):
    ok: Literal[True]
    token: str
    pairingId: str
    expiresIn: int
    interval: int
    matchCode: str
    url: str


class OpenPairingReply(_OpenPairingReply, total=False):
    secret: str

PairingClaimStep = Literal["scan", "confirm", "deny"]


class ClaimPairingReply(TypedDict):
    ok: Literal[True]
    status: PairingStatus
    matchCode: str
    requester: PairingRequester

PairingStatus = Literal["pending", "scanned", "claimed", "denied", "expired"]


class PairingRequester(TypedDict):
    """The browser that asks to be signed in."""

    address: str
    userAgent: str
    ageSeconds: int


class _GetPairingReply(TypedDict):
    ok: Literal[True]
    status: PairingStatus


class GetPairingReply(_GetPairingReply, total=False):
    sessionToken: str
    claimedBy: GetPairingReplyClaimedBy


class GetPairingReplyClaimedBy(TypedDict, total=False):
    """With `claimed`, for the client that holds svc_pair or the secret."""

    name: str

RoomsCreateWriters = Literal["host", "players", "server"]


class _SeatedReply(TypedDict):
    ok: Literal[True]
    room: Room
    you: Seat


class SeatedReply(_SeatedReply, total=False):
    away: List[str]
    replayed: bool


class _Room(TypedDict):
    code: str
    phase: RoomPhase
    seq: int
    hostId: Optional[str]
    minPlayers: int
    maxPlayers: int
    locked: bool
    seatGraceSeconds: Optional[int]
    writers: RoomWriters
    public: bool
    tags: Any
    state: Any
    stateSeq: int
    players: List[Player]
    createdAt: str
    updatedAt: str
    expiresAt: str


class Room(_Room, total=False):
    game: str
    startedAt: str
    endedAt: str
    nextCode: str

RoomPhase = Literal["lobby", "playing", "ended"]

RoomWriters = Literal["host", "players", "server"]


class Player(TypedDict):
    id: str
    name: str
    ready: bool
    connected: bool
    host: bool
    joinedAt: str
    data: Any


class _Seat(TypedDict):
    playerId: str
    host: bool


class Seat(_Seat, total=False):
    """The caller's seat; after `leave`, the seat given up. For a server key the seat of the host after the action."""

    private: Any
    order: int


class _ListRoomsReply(TypedDict):
    ok: Literal[True]
    rooms: List[ListedRoom]


class ListRoomsReply(_ListRoomsReply, total=False):
    nextCursor: str


class _ListedRoom(TypedDict):
    code: str
    players: int
    maxPlayers: int
    tags: Any
    createdAt: str


class ListedRoom(_ListedRoom, total=False):
    """A room that anybody may join."""

    game: str

RoomsMatchWriters = Literal["host", "players", "server"]


class MatchRoomReply(TypedDict):
    ok: Literal[True]
    room: Room
    you: Seat
    created: bool


class RoomReply(TypedDict):
    ok: Literal[True]
    room: Room


class RoomTicketReply(TypedDict):
    ok: Literal[True]
    ticket: str
    playerId: str
    expiresIn: int

RoomsSettingsWriters = Literal["host", "players", "server"]


class ListSavesReply(TypedDict):
    ok: Literal[True]
    saves: List[ListedSave]


class _ListedSave(TypedDict):
    name: str
    version: int
    sizeBytes: int
    updatedAt: str


class ListedSave(_ListedSave, total=False):
    device: str


class _LoadSaveReply(TypedDict):
    ok: Literal[True]
    name: str
    version: int
    data: Any
    updatedAt: str


class LoadSaveReply(_LoadSaveReply, total=False):
    device: str
    other: LoadSaveReplyOther


class LoadSaveReplyOther(TypedDict):
    """The version of a guest that moved in."""

    version: int


class WriteSaveReply(TypedDict):
    ok: Literal[True]
    version: int
    updatedAt: str


class DeleteSaveReply(TypedDict):
    ok: Literal[True]
    deleted: bool


class _Trial(TypedDict):
    ok: Literal[True]
    active: bool
    state: TrialState


class Trial(_Trial, total=False):
    startedAt: str
    expiresAt: str
    remainingSeconds: int

TrialState = Literal["none", "active", "expired"]


class _Subscription(TypedDict):
    ok: Literal[True]
    subscribed: bool
    state: SubscriptionState
    source: SubscriptionSource
    verified: bool


class Subscription(_Subscription, total=False):
    productId: str
    expiresAt: str
    willRenew: bool

SubscriptionState = Literal["active", "grace", "on_hold", "paused", "canceled", "expired", "pending", "none"]

SubscriptionSource = Literal["store", "report", "none"]


class ReportSubscriptionReply(TypedDict):
    ok: Literal[True]
    recorded: bool

SubscriptionPurchaseStore = Literal["google", "apple"]

EntitlementCurrentProof = Literal["1"]


class _Entitlement(TypedDict):
    ok: Literal[True]
    state: EntitlementState
    access: bool


class Entitlement(_Entitlement, total=False):
    expiresAt: str
    firstRunAt: str
    source: EntitlementSource
    installVerified: bool
    proof: str

EntitlementState = Literal["subscribed", "grace", "trial", "expired", "none"]

EntitlementSource = Literal["gift"]


class RecordFirstRunReply(TypedDict):
    ok: Literal[True]
    firstRunAt: str


class _SignInWithStoreReply(TypedDict):
    ok: Literal[True]
    accountId: str
    provider: str
    created: bool
    expiresAt: str
    moved: bool


class SignInWithStoreReply(_SignInWithStoreReply, total=False):
    sessionToken: str
    movedCoins: int
    movedDebtCoins: int
    notMoved: SignInWithStoreReplyNotMoved

SignInWithStoreReplyNotMoved = Literal["not_a_guest", "from_pairing", "too_many_guests", "balance_limit"]


class IssueNonceReply(TypedDict):
    ok: Literal[True]
    nonce: str
    expiresIn: int


class _ProveInstallReply(TypedDict):
    ok: Literal[True]
    installVerified: bool
    packageName: str


class ProveInstallReply(_ProveInstallReply, total=False):
    accountId: str


class _ErrorDetails(TypedDict):
    code: ErrorCode
    message: str


class ErrorDetails(_ErrorDetails, total=False):
    field: str
    issues: List[RequestIssue]
    retryAfterMs: int
    outcome: ErrorDetailsOutcome
    balanceCoins: int
    debtCoins: int
    scope: str
    failed: List[str]
    stateSeq: int
    state: Any

ErrorCode = Literal["invalid_json", "invalid_request", "unknown_action", "identity_required", "session_required", "sign_in_required", "bad_token", "bad_key", "forbidden", "cross_site", "proof_required", "server_only", "account_banned", "not_host", "not_writer", "not_in_room", "kicked", "integrity_failed", "not_found", "account_not_found", "entry_not_found", "game_not_found", "sign_in_not_found", "season_not_found", "room_not_found", "pair_not_found", "session_not_found", "method_not_allowed", "insufficient_coins", "balance_limit", "already_claimed", "pair_expired", "pair_denied", "room_full", "room_started", "sign_in_taken", "last_sign_in", "merge_refused", "room_ended", "room_locked", "not_enough_players", "stale_state", "stale_save", "save_limit", "nonce_used", "test_purchase", "product_not_found", "save_not_found", "purchase_not_found", "webhook_not_found", "event_not_found", "webhooks_full", "purchase_owned", "no_trial", "account_deleted", "payload_too_large", "unsupported_media_type", "key_reused", "upgrade_required", "rate_limited", "internal", "store_unavailable", "app_store_unavailable", "store_unconfigured", "overloaded"]


class RequestIssue(TypedDict):
    path: str
    message: str

ErrorDetailsOutcome = Literal["unknown"]


class Failure(TypedDict, total=False):
    """A failed call. `pending`: the operation waits, and will be finished. `status`: of the answer, if the service has answered."""

    ok: Literal[False]
    error: ErrorDetails
    status: int
    pending: bool
    requestId: str


def _given(fields: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}



class AccountsCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def resolve(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ResolveAccountReply, Failure]:
        """Finds the account of an install, and creates it the first time."""
        given: Dict[str, Any] = {}
        return cast("Union[ResolveAccountReply, Failure]", await self._call("accounts.resolve", given, timeout_ms, signal))

    async def export(
        self,
        *,
        cursor: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ExportAccountReply, Failure]:
        """All that is kept about the caller, in pages."""
        given: Dict[str, Any] = {**_given({"cursor": cursor})}
        return cast("Union[ExportAccountReply, Failure]", await self._call("accounts.export", given, timeout_ms, signal))

    async def delete(
        self,
        *,
        token: Optional[str] = None,
        confirm: Optional[str] = None,
        authorization_code: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[DeleteAccountReply, Failure]:
        """Deletes an account for good, in two calls."""
        given: Dict[str, Any] = {**_given({"token": token, "confirm": confirm, "authorizationCode": authorization_code})}
        return cast("Union[DeleteAccountReply, Failure]", await self._call("accounts.delete", given, timeout_ms, signal))

    async def store_ids(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetStoreIdsReply, Failure]:
        """The caller's ids for app stores, which bind a purchase to the account."""
        given: Dict[str, Any] = {}
        return cast("Union[GetStoreIdsReply, Failure]", await self._call("accounts.storeIds", given, timeout_ms, signal))


class SessionsCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def login(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[LoginReply, Failure]:
        """Signs in with an installId, and sets the session cookie svc_session or answers with the session token."""
        given: Dict[str, Any] = {}
        return cast("Union[LoginReply, Failure]", await self._call("sessions.login", given, timeout_ms, signal))

    async def logout(
        self,
        *,
        everywhere: Optional[bool] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[LogoutReply, Failure]:
        """Signs out: the session ends on every process at once."""
        given: Dict[str, Any] = {**_given({"everywhere": everywhere})}
        return cast("Union[LogoutReply, Failure]", await self._call("sessions.logout", given, timeout_ms, signal))

    async def current(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetSessionReply, Failure]:
        """Tells whether the session is valid, and for which account."""
        given: Dict[str, Any] = {}
        return cast("Union[GetSessionReply, Failure]", await self._call("sessions.current", given, timeout_ms, signal))

    async def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListSessionsReply, Failure]:
        """The sessions of the caller's account: its signed-in browsers."""
        given: Dict[str, Any] = {}
        return cast("Union[ListSessionsReply, Failure]", await self._call("sessions.list", given, timeout_ms, signal))

    async def end(
        self,
        *,
        id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[EndSessionReply, Failure]:
        """Ends one session of the caller's account, on every process at once."""
        given: Dict[str, Any] = {"id": id}
        return cast("Union[EndSessionReply, Failure]", await self._call("sessions.end", given, timeout_ms, signal))


class SignInsCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListSignInsReply, Failure]:
        """The sign-ins of the session's account: the providers with which its user signs in."""
        given: Dict[str, Any] = {}
        return cast("Union[ListSignInsReply, Failure]", await self._call("signIns.list", given, timeout_ms, signal))

    async def nonce(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[StartAddingSignInReply, Failure]:
        """A nonce for the token of the sign-in that the session's account is to get."""
        given: Dict[str, Any] = {}
        return cast("Union[StartAddingSignInReply, Failure]", await self._call("signIns.nonce", given, timeout_ms, signal))

    async def add(
        self,
        *,
        token: str,
        proof: Optional[str] = None,
        confirm: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[AddSignInReply, Failure]:
        """Adds a sign-in to the session's account, or merges the account that the sign-in has."""
        given: Dict[str, Any] = {"token": token, **_given({"proof": proof, "confirm": confirm})}
        return cast("Union[AddSignInReply, Failure]", await self._call("signIns.add", given, timeout_ms, signal))

    async def remove(
        self,
        *,
        id: str,
        proof: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RemoveSignInReply, Failure]:
        """Removes a sign-in from the session's account."""
        given: Dict[str, Any] = {"id": id, **_given({"proof": proof})}
        return cast("Union[RemoveSignInReply, Failure]", await self._call("signIns.remove", given, timeout_ms, signal))


class CoinsCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def balance(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetBalanceReply, Failure]:
        """The caller's coin balance. It is 0 for an unknown install."""
        given: Dict[str, Any] = {}
        return cast("Union[GetBalanceReply, Failure]", await self._call("coins.balance", given, timeout_ms, signal))

    async def credit(
        self,
        *,
        coins: int,
        key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[CoinOperationReply, Failure]:
        """Adds coins, once per key."""
        given: Dict[str, Any] = {"coins": coins, **_given({"key": key})}
        return cast("Union[CoinOperationReply, Failure]", await self._call("coins.credit", given, timeout_ms, signal))

    async def purchase(
        self,
        *,
        coins: int,
        key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[CoinOperationReply, Failure]:
        """Adds bought coins, once per key."""
        given: Dict[str, Any] = {"coins": coins, **_given({"key": key})}
        return cast("Union[CoinOperationReply, Failure]", await self._call("coins.purchase", given, timeout_ms, signal))

    async def debit(
        self,
        *,
        coins: int,
        key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[CoinOperationReply, Failure]:
        """Removes coins, once per key, and never more than the balance."""
        given: Dict[str, Any] = {"coins": coins, **_given({"key": key})}
        return cast("Union[CoinOperationReply, Failure]", await self._call("coins.debit", given, timeout_ms, signal))

    async def history(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetCoinHistoryReply, Failure]:
        """The caller's ledger, newest entry first."""
        given: Dict[str, Any] = {**_given({"limit": limit, "cursor": cursor})}
        return cast("Union[GetCoinHistoryReply, Failure]", await self._call("coins.history", given, timeout_ms, signal))


class HighscoresCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def top(
        self,
        *,
        game: str,
        season: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetHighscoresReply, Failure]:
        """A game's ten best scores; an empty list for a game without scores."""
        given: Dict[str, Any] = {"game": game, **_given({"season": season})}
        return cast("Union[GetHighscoresReply, Failure]", await self._call("highscores.top", given, timeout_ms, signal))

    async def submit(
        self,
        *,
        game: str,
        score: float,
        name: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SubmitScoreReply, Failure]:
        """Submits a score to a game's board, which keeps each account's best score."""
        given: Dict[str, Any] = {"game": game, "score": score, "name": name}
        return cast("Union[SubmitScoreReply, Failure]", await self._call("highscores.submit", given, timeout_ms, signal))

    async def entries(
        self,
        *,
        game: str,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        season: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListHighscoresReply, Failure]:
        """A page of a game's board, best first."""
        given: Dict[str, Any] = {"game": game, **_given({"limit": limit, "cursor": cursor, "season": season})}
        return cast("Union[ListHighscoresReply, Failure]", await self._call("highscores.entries", given, timeout_ms, signal))

    async def around(
        self,
        *,
        game: str,
        player_id: Optional[str] = None,
        season: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetHighscoresAroundReply, Failure]:
        """The caller's entry on a game's board, and the entries around it."""
        given: Dict[str, Any] = {"game": game, **_given({"playerId": player_id, "season": season, "limit": limit})}
        return cast("Union[GetHighscoresAroundReply, Failure]", await self._call("highscores.around", given, timeout_ms, signal))


class CatalogueCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetCatalogueReply, Failure]:
        """The apps and games of the portfolio."""
        given: Dict[str, Any] = {}
        return cast("Union[GetCatalogueReply, Failure]", await self._call("catalogue.list", given, timeout_ms, signal))


class ProductsCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListProductsReply, Failure]:
        """The coins that the app stores sell."""
        given: Dict[str, Any] = {}
        return cast("Union[ListProductsReply, Failure]", await self._call("products.list", given, timeout_ms, signal))


class PurchasesCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def buy(
        self,
        *,
        store: PurchasesBuyStore,
        purchase_token: Optional[str] = None,
        transaction: Optional[str] = None,
        transaction_id: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[PurchaseProductReply, Failure]:
        """Books coins that were bought in an app store, once the store confirms it."""
        given: Dict[str, Any] = {"store": store, **_given({"purchaseToken": purchase_token, "transaction": transaction, "transactionId": transaction_id})}
        return cast("Union[PurchaseProductReply, Failure]", await self._call("purchases.buy", given, timeout_ms, signal))

    async def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListPurchasesReply, Failure]:
        """The caller's purchases of coins, newest first."""
        given: Dict[str, Any] = {**_given({"limit": limit, "cursor": cursor})}
        return cast("Union[ListPurchasesReply, Failure]", await self._call("purchases.list", given, timeout_ms, signal))


class PairingCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def open(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[OpenPairingReply, Failure]:
        """Opens a pairing: a token for a website to show as a QR code and an app to claim."""
        given: Dict[str, Any] = {}
        return cast("Union[OpenPairingReply, Failure]", await self._call("pairing.open", given, timeout_ms, signal))

    async def claim(
        self,
        *,
        token: str,
        step: Optional[PairingClaimStep] = None,
        name: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ClaimPairingReply, Failure]:
        """Claims a pairing for the caller's account, so that the browser that opened it can sign in."""
        given: Dict[str, Any] = {"token": token, **_given({"step": step, "name": name})}
        return cast("Union[ClaimPairingReply, Failure]", await self._call("pairing.claim", given, timeout_ms, signal))

    async def status(
        self,
        *,
        token: str,
        wait: Optional[int] = None,
        since: Optional[PairingStatus] = None,
        secret: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetPairingReply, Failure]:
        """Reads the status of a pairing. Once it is claimed, signs in the browser that opened it."""
        given: Dict[str, Any] = {"token": token, **_given({"wait": wait, "since": since, "secret": secret})}
        return cast("Union[GetPairingReply, Failure]", await self._call("pairing.status", given, timeout_ms, signal))


class RoomsCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def create(
        self,
        *,
        name: Optional[str] = None,
        min_players: Optional[int] = None,
        state: Optional[Any] = None,
        writers: Optional[RoomsCreateWriters] = None,
        tags: Optional[Any] = None,
        seat_grace_seconds: Optional[int] = None,
        start_when_full: Optional[bool] = None,
        game: Optional[str] = None,
        max_players: Optional[int] = None,
        public: Optional[bool] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Opens a room with the caller as host and first player."""
        given: Dict[str, Any] = {**_given({"name": name, "minPlayers": min_players, "state": state, "writers": writers, "tags": tags, "seatGraceSeconds": seat_grace_seconds, "startWhenFull": start_when_full, "game": game, "maxPlayers": max_players, "public": public})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.create", given, timeout_ms, signal))

    async def list(
        self,
        *,
        game: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        tags: Optional[Dict[str, str]] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListRoomsReply, Failure]:
        """The public rooms that can be joined, newest first."""
        given: Dict[str, Any] = {**_given({"game": game, "limit": limit, "cursor": cursor, "tags": tags})}
        return cast("Union[ListRoomsReply, Failure]", await self._call("rooms.list", given, timeout_ms, signal))

    async def read(
        self,
        *,
        code: str,
        since: Optional[int] = None,
        wait: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RoomReply, Failure]:
        """A room's public state."""
        given: Dict[str, Any] = {"code": code, **_given({"since": since, "wait": wait})}
        return cast("Union[RoomReply, Failure]", await self._call("rooms.read", given, timeout_ms, signal))

    async def ticket(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RoomTicketReply, Failure]:
        """Gives a player a ticket that proves the seat to the game's own server."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[RoomTicketReply, Failure]", await self._call("rooms.ticket", given, timeout_ms, signal))

    async def join(
        self,
        *,
        code: str,
        name: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Takes a seat in the lobby. A caller who joins again, in any phase, gets the same seat."""
        given: Dict[str, Any] = {"code": code, **_given({"name": name})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.join", given, timeout_ms, signal))

    async def leave(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Gives up the seat, in any phase. If the host leaves, the player who has been seated longest becomes the host. When the last player leaves, the room ends."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.leave", given, timeout_ms, signal))

    async def ready(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Tells the other players that the caller is ready."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.ready", given, timeout_ms, signal))

    async def unready(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Tells the other players that the caller is not ready."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.unready", given, timeout_ms, signal))

    async def start(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host moves the room from lobby to playing. A repeated call is answered with 200."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.start", given, timeout_ms, signal))

    async def end(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host ends the room, in any phase. A repeated call is answered with 200."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.end", given, timeout_ms, signal))

    async def kick(
        self,
        *,
        code: str,
        player_id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host removes another player, who then cannot join again."""
        given: Dict[str, Any] = {"code": code, "playerId": player_id}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.kick", given, timeout_ms, signal))

    async def transfer(
        self,
        *,
        code: str,
        player_id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host makes another player the host."""
        given: Dict[str, Any] = {"code": code, "playerId": player_id}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.transfer", given, timeout_ms, signal))

    async def lock(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host locks the room, which then refuses new players."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.lock", given, timeout_ms, signal))

    async def unlock(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host unlocks the room, which then accepts new players again."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.unlock", given, timeout_ms, signal))

    async def settings(
        self,
        *,
        code: str,
        public: Optional[bool] = None,
        tags: Optional[Any] = None,
        min_players: Optional[int] = None,
        max_players: Optional[int] = None,
        writers: Optional[RoomsSettingsWriters] = None,
        seat_grace_seconds: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host changes the settings of the lobby."""
        given: Dict[str, Any] = {"code": code, **_given({"public": public, "tags": tags, "minPlayers": min_players, "maxPlayers": max_players, "writers": writers, "seatGraceSeconds": seat_grace_seconds})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.settings", given, timeout_ms, signal))

    async def state(
        self,
        *,
        code: str,
        state: Optional[Any] = None,
        merge: Optional[Any] = None,
        if_state_seq: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Replaces the game's public state, or merges into it."""
        given: Dict[str, Any] = {"code": code, **_given({"state": state, "merge": merge, "ifStateSeq": if_state_seq})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.state", given, timeout_ms, signal))

    async def data(
        self,
        *,
        code: str,
        data: Optional[Any] = None,
        merge: Optional[Any] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Sets the caller's own public data, or merges into it."""
        given: Dict[str, Any] = {"code": code, **_given({"data": data, "merge": merge})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.data", given, timeout_ms, signal))

    async def private(
        self,
        *,
        code: str,
        seats: Any,
        state: Optional[Any] = None,
        merge: Optional[Any] = None,
        if_state_seq: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host gives players private parts, such as a hand of cards. No player sees the part of another."""
        given: Dict[str, Any] = {"code": code, "seats": seats, **_given({"state": state, "merge": merge, "ifStateSeq": if_state_seq})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.private", given, timeout_ms, signal))

    async def message(
        self,
        *,
        code: str,
        data: Any,
        to: Optional[List[str]] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Sends a message to the channels of the room."""
        given: Dict[str, Any] = {"code": code, "data": data, **_given({"to": to})}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.message", given, timeout_ms, signal))

    async def rematch(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host opens a lobby with the same game and settings, named by `nextCode`. Repeating it gives the same `nextCode`."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", await self._call("rooms.rematch", given, timeout_ms, signal))


class SavesCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def list(
        self,
        *,
        game: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListSavesReply, Failure]:
        """The saves of a player in a game, without their data."""
        given: Dict[str, Any] = {"game": game}
        return cast("Union[ListSavesReply, Failure]", await self._call("saves.list", given, timeout_ms, signal))

    async def delete(
        self,
        *,
        game: str,
        name: str,
        if_version: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[DeleteSaveReply, Failure]:
        """Deletes a save with all its versions."""
        given: Dict[str, Any] = {"game": game, "name": name, **_given({"ifVersion": if_version})}
        return cast("Union[DeleteSaveReply, Failure]", await self._call("saves.delete", given, timeout_ms, signal))


class TrialCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def touch(
        self,
        *,
        device_id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Trial, Failure]:
        """Starts a device's trial. Later calls only answer with its state."""
        given: Dict[str, Any] = {"deviceId": device_id}
        return cast("Union[Trial, Failure]", await self._call("trial.touch", given, timeout_ms, signal))

    async def current(
        self,
        *,
        device_id: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Trial, Failure]:
        """The state of a trial. The call does not start a trial."""
        given: Dict[str, Any] = {**_given({"deviceId": device_id})}
        return cast("Union[Trial, Failure]", await self._call("trial.current", given, timeout_ms, signal))

    async def link(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Trial, Failure]:
        """Links the device's trial to the signed-in account."""
        given: Dict[str, Any] = {}
        return cast("Union[Trial, Failure]", await self._call("trial.link", given, timeout_ms, signal))


class SubscriptionCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def current(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Subscription, Failure]:
        """Whether the caller's subscription gives access now, and the source of that state."""
        given: Dict[str, Any] = {}
        return cast("Union[Subscription, Failure]", await self._call("subscription.current", given, timeout_ms, signal))

    async def report(
        self,
        *,
        subscribed: bool,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ReportSubscriptionReply, Failure]:
        """Records the app's report that its user subscribes or no longer subscribes."""
        given: Dict[str, Any] = {"subscribed": subscribed}
        return cast("Union[ReportSubscriptionReply, Failure]", await self._call("subscription.report", given, timeout_ms, signal))

    async def purchase(
        self,
        *,
        store: Optional[SubscriptionPurchaseStore] = None,
        purchase_token: Optional[str] = None,
        transaction: Optional[str] = None,
        transaction_id: Optional[str] = None,
        package_name: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Subscription, Failure]:
        """Records a subscription bought in the app store, once the app store confirms it."""
        given: Dict[str, Any] = {**_given({"store": store, "purchaseToken": purchase_token, "transaction": transaction, "transactionId": transaction_id, "packageName": package_name})}
        return cast("Union[Subscription, Failure]", await self._call("subscription.purchase", given, timeout_ms, signal))


class EntitlementCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def current(
        self,
        *,
        proof: Optional[EntitlementCurrentProof] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Entitlement, Failure]:
        """The caller's access now, and when it ends."""
        given: Dict[str, Any] = {**_given({"proof": proof})}
        return cast("Union[Entitlement, Failure]", await self._call("entitlement.current", given, timeout_ms, signal))

    async def first_run(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RecordFirstRunReply, Failure]:
        """Records the app's first run, once, on the server's clock."""
        given: Dict[str, Any] = {}
        return cast("Union[RecordFirstRunReply, Failure]", await self._call("entitlement.firstRun", given, timeout_ms, signal))


class StoreCalls:
    def __init__(self, call: Caller) -> None:
        self._call = call

    async def provision(
        self,
        *,
        token: str,
        nonce: Optional[str] = None,
        move: Optional[bool] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SignInWithStoreReply, Failure]:
        """Signs in with Google, Apple or another OpenID provider. The first sign-in creates the account."""
        given: Dict[str, Any] = {"token": token, **_given({"nonce": nonce, "move": move})}
        return cast("Union[SignInWithStoreReply, Failure]", await self._call("store.provision", given, timeout_ms, signal))

    async def nonce(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[IssueNonceReply, Failure]:
        """Issues a nonce for one install proof."""
        given: Dict[str, Any] = {}
        return cast("Union[IssueNonceReply, Failure]", await self._call("store.nonce", given, timeout_ms, signal))

    async def install(
        self,
        *,
        nonce: str,
        integrity_token: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ProveInstallReply, Failure]:
        """Proves that an install of the app is genuine, with an integrity token made for a nonce."""
        given: Dict[str, Any] = {"nonce": nonce, "integrityToken": integrity_token}
        return cast("Union[ProveInstallReply, Failure]", await self._call("store.install", given, timeout_ms, signal))


class Calls:
    """Every call, by feature."""

    def __init__(self, call: Caller) -> None:
        self.accounts = AccountsCalls(call)
        self.sessions = SessionsCalls(call)
        self.sign_ins = SignInsCalls(call)
        self.coins = CoinsCalls(call)
        self.highscores = HighscoresCalls(call)
        self.catalogue = CatalogueCalls(call)
        self.products = ProductsCalls(call)
        self.purchases = PurchasesCalls(call)
        self.pairing = PairingCalls(call)
        self.rooms = RoomsCalls(call)
        self.trial = TrialCalls(call)
        self.subscription = SubscriptionCalls(call)
        self.entitlement = EntitlementCalls(call)
        self.store = StoreCalls(call)



class PlainAccountsCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def resolve(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ResolveAccountReply, Failure]:
        """Finds the account of an install, and creates it the first time."""
        given: Dict[str, Any] = {}
        return cast("Union[ResolveAccountReply, Failure]", self._call("accounts.resolve", given, timeout_ms, signal))

    def export(
        self,
        *,
        cursor: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ExportAccountReply, Failure]:
        """All that is kept about the caller, in pages."""
        given: Dict[str, Any] = {**_given({"cursor": cursor})}
        return cast("Union[ExportAccountReply, Failure]", self._call("accounts.export", given, timeout_ms, signal))

    def delete(
        self,
        *,
        token: Optional[str] = None,
        confirm: Optional[str] = None,
        authorization_code: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[DeleteAccountReply, Failure]:
        """Deletes an account for good, in two calls."""
        given: Dict[str, Any] = {**_given({"token": token, "confirm": confirm, "authorizationCode": authorization_code})}
        return cast("Union[DeleteAccountReply, Failure]", self._call("accounts.delete", given, timeout_ms, signal))

    def store_ids(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetStoreIdsReply, Failure]:
        """The caller's ids for app stores, which bind a purchase to the account."""
        given: Dict[str, Any] = {}
        return cast("Union[GetStoreIdsReply, Failure]", self._call("accounts.storeIds", given, timeout_ms, signal))


class PlainSessionsCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def login(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[LoginReply, Failure]:
        """Signs in with an installId, and sets the session cookie svc_session or answers with the session token."""
        given: Dict[str, Any] = {}
        return cast("Union[LoginReply, Failure]", self._call("sessions.login", given, timeout_ms, signal))

    def logout(
        self,
        *,
        everywhere: Optional[bool] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[LogoutReply, Failure]:
        """Signs out: the session ends on every process at once."""
        given: Dict[str, Any] = {**_given({"everywhere": everywhere})}
        return cast("Union[LogoutReply, Failure]", self._call("sessions.logout", given, timeout_ms, signal))

    def current(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetSessionReply, Failure]:
        """Tells whether the session is valid, and for which account."""
        given: Dict[str, Any] = {}
        return cast("Union[GetSessionReply, Failure]", self._call("sessions.current", given, timeout_ms, signal))

    def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListSessionsReply, Failure]:
        """The sessions of the caller's account: its signed-in browsers."""
        given: Dict[str, Any] = {}
        return cast("Union[ListSessionsReply, Failure]", self._call("sessions.list", given, timeout_ms, signal))

    def end(
        self,
        *,
        id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[EndSessionReply, Failure]:
        """Ends one session of the caller's account, on every process at once."""
        given: Dict[str, Any] = {"id": id}
        return cast("Union[EndSessionReply, Failure]", self._call("sessions.end", given, timeout_ms, signal))


class PlainSignInsCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListSignInsReply, Failure]:
        """The sign-ins of the session's account: the providers with which its user signs in."""
        given: Dict[str, Any] = {}
        return cast("Union[ListSignInsReply, Failure]", self._call("signIns.list", given, timeout_ms, signal))

    def nonce(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[StartAddingSignInReply, Failure]:
        """A nonce for the token of the sign-in that the session's account is to get."""
        given: Dict[str, Any] = {}
        return cast("Union[StartAddingSignInReply, Failure]", self._call("signIns.nonce", given, timeout_ms, signal))

    def add(
        self,
        *,
        token: str,
        proof: Optional[str] = None,
        confirm: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[AddSignInReply, Failure]:
        """Adds a sign-in to the session's account, or merges the account that the sign-in has."""
        given: Dict[str, Any] = {"token": token, **_given({"proof": proof, "confirm": confirm})}
        return cast("Union[AddSignInReply, Failure]", self._call("signIns.add", given, timeout_ms, signal))

    def remove(
        self,
        *,
        id: str,
        proof: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RemoveSignInReply, Failure]:
        """Removes a sign-in from the session's account."""
        given: Dict[str, Any] = {"id": id, **_given({"proof": proof})}
        return cast("Union[RemoveSignInReply, Failure]", self._call("signIns.remove", given, timeout_ms, signal))


class PlainCoinsCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def balance(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetBalanceReply, Failure]:
        """The caller's coin balance. It is 0 for an unknown install."""
        given: Dict[str, Any] = {}
        return cast("Union[GetBalanceReply, Failure]", self._call("coins.balance", given, timeout_ms, signal))

    def credit(
        self,
        *,
        coins: int,
        key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[CoinOperationReply, Failure]:
        """Adds coins, once per key."""
        given: Dict[str, Any] = {"coins": coins, **_given({"key": key})}
        return cast("Union[CoinOperationReply, Failure]", self._call("coins.credit", given, timeout_ms, signal))

    def purchase(
        self,
        *,
        coins: int,
        key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[CoinOperationReply, Failure]:
        """Adds bought coins, once per key."""
        given: Dict[str, Any] = {"coins": coins, **_given({"key": key})}
        return cast("Union[CoinOperationReply, Failure]", self._call("coins.purchase", given, timeout_ms, signal))

    def debit(
        self,
        *,
        coins: int,
        key: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[CoinOperationReply, Failure]:
        """Removes coins, once per key, and never more than the balance."""
        given: Dict[str, Any] = {"coins": coins, **_given({"key": key})}
        return cast("Union[CoinOperationReply, Failure]", self._call("coins.debit", given, timeout_ms, signal))

    def history(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetCoinHistoryReply, Failure]:
        """The caller's ledger, newest entry first."""
        given: Dict[str, Any] = {**_given({"limit": limit, "cursor": cursor})}
        return cast("Union[GetCoinHistoryReply, Failure]", self._call("coins.history", given, timeout_ms, signal))


class PlainHighscoresCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def top(
        self,
        *,
        game: str,
        season: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetHighscoresReply, Failure]:
        """A game's ten best scores; an empty list for a game without scores."""
        given: Dict[str, Any] = {"game": game, **_given({"season": season})}
        return cast("Union[GetHighscoresReply, Failure]", self._call("highscores.top", given, timeout_ms, signal))

    def submit(
        self,
        *,
        game: str,
        score: float,
        name: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SubmitScoreReply, Failure]:
        """Submits a score to a game's board, which keeps each account's best score."""
        given: Dict[str, Any] = {"game": game, "score": score, "name": name}
        return cast("Union[SubmitScoreReply, Failure]", self._call("highscores.submit", given, timeout_ms, signal))

    def entries(
        self,
        *,
        game: str,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        season: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListHighscoresReply, Failure]:
        """A page of a game's board, best first."""
        given: Dict[str, Any] = {"game": game, **_given({"limit": limit, "cursor": cursor, "season": season})}
        return cast("Union[ListHighscoresReply, Failure]", self._call("highscores.entries", given, timeout_ms, signal))

    def around(
        self,
        *,
        game: str,
        player_id: Optional[str] = None,
        season: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetHighscoresAroundReply, Failure]:
        """The caller's entry on a game's board, and the entries around it."""
        given: Dict[str, Any] = {"game": game, **_given({"playerId": player_id, "season": season, "limit": limit})}
        return cast("Union[GetHighscoresAroundReply, Failure]", self._call("highscores.around", given, timeout_ms, signal))


class PlainCatalogueCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetCatalogueReply, Failure]:
        """The apps and games of the portfolio."""
        given: Dict[str, Any] = {}
        return cast("Union[GetCatalogueReply, Failure]", self._call("catalogue.list", given, timeout_ms, signal))


class PlainProductsCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def list(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListProductsReply, Failure]:
        """The coins that the app stores sell."""
        given: Dict[str, Any] = {}
        return cast("Union[ListProductsReply, Failure]", self._call("products.list", given, timeout_ms, signal))


class PlainPurchasesCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def buy(
        self,
        *,
        store: PurchasesBuyStore,
        purchase_token: Optional[str] = None,
        transaction: Optional[str] = None,
        transaction_id: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[PurchaseProductReply, Failure]:
        """Books coins that were bought in an app store, once the store confirms it."""
        given: Dict[str, Any] = {"store": store, **_given({"purchaseToken": purchase_token, "transaction": transaction, "transactionId": transaction_id})}
        return cast("Union[PurchaseProductReply, Failure]", self._call("purchases.buy", given, timeout_ms, signal))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListPurchasesReply, Failure]:
        """The caller's purchases of coins, newest first."""
        given: Dict[str, Any] = {**_given({"limit": limit, "cursor": cursor})}
        return cast("Union[ListPurchasesReply, Failure]", self._call("purchases.list", given, timeout_ms, signal))


class PlainPairingCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def open(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[OpenPairingReply, Failure]:
        """Opens a pairing: a token for a website to show as a QR code and an app to claim."""
        given: Dict[str, Any] = {}
        return cast("Union[OpenPairingReply, Failure]", self._call("pairing.open", given, timeout_ms, signal))

    def claim(
        self,
        *,
        token: str,
        step: Optional[PairingClaimStep] = None,
        name: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ClaimPairingReply, Failure]:
        """Claims a pairing for the caller's account, so that the browser that opened it can sign in."""
        given: Dict[str, Any] = {"token": token, **_given({"step": step, "name": name})}
        return cast("Union[ClaimPairingReply, Failure]", self._call("pairing.claim", given, timeout_ms, signal))

    def status(
        self,
        *,
        token: str,
        wait: Optional[int] = None,
        since: Optional[PairingStatus] = None,
        secret: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[GetPairingReply, Failure]:
        """Reads the status of a pairing. Once it is claimed, signs in the browser that opened it."""
        given: Dict[str, Any] = {"token": token, **_given({"wait": wait, "since": since, "secret": secret})}
        return cast("Union[GetPairingReply, Failure]", self._call("pairing.status", given, timeout_ms, signal))


class PlainRoomsCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def create(
        self,
        *,
        name: Optional[str] = None,
        min_players: Optional[int] = None,
        state: Optional[Any] = None,
        writers: Optional[RoomsCreateWriters] = None,
        tags: Optional[Any] = None,
        seat_grace_seconds: Optional[int] = None,
        start_when_full: Optional[bool] = None,
        game: Optional[str] = None,
        max_players: Optional[int] = None,
        public: Optional[bool] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Opens a room with the caller as host and first player."""
        given: Dict[str, Any] = {**_given({"name": name, "minPlayers": min_players, "state": state, "writers": writers, "tags": tags, "seatGraceSeconds": seat_grace_seconds, "startWhenFull": start_when_full, "game": game, "maxPlayers": max_players, "public": public})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.create", given, timeout_ms, signal))

    def list(
        self,
        *,
        game: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        tags: Optional[Dict[str, str]] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListRoomsReply, Failure]:
        """The public rooms that can be joined, newest first."""
        given: Dict[str, Any] = {**_given({"game": game, "limit": limit, "cursor": cursor, "tags": tags})}
        return cast("Union[ListRoomsReply, Failure]", self._call("rooms.list", given, timeout_ms, signal))

    def read(
        self,
        *,
        code: str,
        since: Optional[int] = None,
        wait: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RoomReply, Failure]:
        """A room's public state."""
        given: Dict[str, Any] = {"code": code, **_given({"since": since, "wait": wait})}
        return cast("Union[RoomReply, Failure]", self._call("rooms.read", given, timeout_ms, signal))

    def ticket(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RoomTicketReply, Failure]:
        """Gives a player a ticket that proves the seat to the game's own server."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[RoomTicketReply, Failure]", self._call("rooms.ticket", given, timeout_ms, signal))

    def join(
        self,
        *,
        code: str,
        name: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Takes a seat in the lobby. A caller who joins again, in any phase, gets the same seat."""
        given: Dict[str, Any] = {"code": code, **_given({"name": name})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.join", given, timeout_ms, signal))

    def leave(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Gives up the seat, in any phase. If the host leaves, the player who has been seated longest becomes the host. When the last player leaves, the room ends."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.leave", given, timeout_ms, signal))

    def ready(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Tells the other players that the caller is ready."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.ready", given, timeout_ms, signal))

    def unready(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Tells the other players that the caller is not ready."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.unready", given, timeout_ms, signal))

    def start(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host moves the room from lobby to playing. A repeated call is answered with 200."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.start", given, timeout_ms, signal))

    def end(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host ends the room, in any phase. A repeated call is answered with 200."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.end", given, timeout_ms, signal))

    def kick(
        self,
        *,
        code: str,
        player_id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host removes another player, who then cannot join again."""
        given: Dict[str, Any] = {"code": code, "playerId": player_id}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.kick", given, timeout_ms, signal))

    def transfer(
        self,
        *,
        code: str,
        player_id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host makes another player the host."""
        given: Dict[str, Any] = {"code": code, "playerId": player_id}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.transfer", given, timeout_ms, signal))

    def lock(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host locks the room, which then refuses new players."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.lock", given, timeout_ms, signal))

    def unlock(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host unlocks the room, which then accepts new players again."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.unlock", given, timeout_ms, signal))

    def settings(
        self,
        *,
        code: str,
        public: Optional[bool] = None,
        tags: Optional[Any] = None,
        min_players: Optional[int] = None,
        max_players: Optional[int] = None,
        writers: Optional[RoomsSettingsWriters] = None,
        seat_grace_seconds: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host changes the settings of the lobby."""
        given: Dict[str, Any] = {"code": code, **_given({"public": public, "tags": tags, "minPlayers": min_players, "maxPlayers": max_players, "writers": writers, "seatGraceSeconds": seat_grace_seconds})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.settings", given, timeout_ms, signal))

    def state(
        self,
        *,
        code: str,
        state: Optional[Any] = None,
        merge: Optional[Any] = None,
        if_state_seq: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Replaces the game's public state, or merges into it."""
        given: Dict[str, Any] = {"code": code, **_given({"state": state, "merge": merge, "ifStateSeq": if_state_seq})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.state", given, timeout_ms, signal))

    def data(
        self,
        *,
        code: str,
        data: Optional[Any] = None,
        merge: Optional[Any] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Sets the caller's own public data, or merges into it."""
        given: Dict[str, Any] = {"code": code, **_given({"data": data, "merge": merge})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.data", given, timeout_ms, signal))

    def private(
        self,
        *,
        code: str,
        seats: Any,
        state: Optional[Any] = None,
        merge: Optional[Any] = None,
        if_state_seq: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host gives players private parts, such as a hand of cards. No player sees the part of another."""
        given: Dict[str, Any] = {"code": code, "seats": seats, **_given({"state": state, "merge": merge, "ifStateSeq": if_state_seq})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.private", given, timeout_ms, signal))

    def message(
        self,
        *,
        code: str,
        data: Any,
        to: Optional[List[str]] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """Sends a message to the channels of the room."""
        given: Dict[str, Any] = {"code": code, "data": data, **_given({"to": to})}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.message", given, timeout_ms, signal))

    def rematch(
        self,
        *,
        code: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SeatedReply, Failure]:
        """The host opens a lobby with the same game and settings, named by `nextCode`. Repeating it gives the same `nextCode`."""
        given: Dict[str, Any] = {"code": code}
        return cast("Union[SeatedReply, Failure]", self._call("rooms.rematch", given, timeout_ms, signal))


class PlainSavesCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def list(
        self,
        *,
        game: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ListSavesReply, Failure]:
        """The saves of a player in a game, without their data."""
        given: Dict[str, Any] = {"game": game}
        return cast("Union[ListSavesReply, Failure]", self._call("saves.list", given, timeout_ms, signal))

    def delete(
        self,
        *,
        game: str,
        name: str,
        if_version: Optional[int] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[DeleteSaveReply, Failure]:
        """Deletes a save with all its versions."""
        given: Dict[str, Any] = {"game": game, "name": name, **_given({"ifVersion": if_version})}
        return cast("Union[DeleteSaveReply, Failure]", self._call("saves.delete", given, timeout_ms, signal))


class PlainTrialCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def touch(
        self,
        *,
        device_id: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Trial, Failure]:
        """Starts a device's trial. Later calls only answer with its state."""
        given: Dict[str, Any] = {"deviceId": device_id}
        return cast("Union[Trial, Failure]", self._call("trial.touch", given, timeout_ms, signal))

    def current(
        self,
        *,
        device_id: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Trial, Failure]:
        """The state of a trial. The call does not start a trial."""
        given: Dict[str, Any] = {**_given({"deviceId": device_id})}
        return cast("Union[Trial, Failure]", self._call("trial.current", given, timeout_ms, signal))

    def link(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Trial, Failure]:
        """Links the device's trial to the signed-in account."""
        given: Dict[str, Any] = {}
        return cast("Union[Trial, Failure]", self._call("trial.link", given, timeout_ms, signal))


class PlainSubscriptionCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def current(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Subscription, Failure]:
        """Whether the caller's subscription gives access now, and the source of that state."""
        given: Dict[str, Any] = {}
        return cast("Union[Subscription, Failure]", self._call("subscription.current", given, timeout_ms, signal))

    def report(
        self,
        *,
        subscribed: bool,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ReportSubscriptionReply, Failure]:
        """Records the app's report that its user subscribes or no longer subscribes."""
        given: Dict[str, Any] = {"subscribed": subscribed}
        return cast("Union[ReportSubscriptionReply, Failure]", self._call("subscription.report", given, timeout_ms, signal))

    def purchase(
        self,
        *,
        store: Optional[SubscriptionPurchaseStore] = None,
        purchase_token: Optional[str] = None,
        transaction: Optional[str] = None,
        transaction_id: Optional[str] = None,
        package_name: Optional[str] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Subscription, Failure]:
        """Records a subscription bought in the app store, once the app store confirms it."""
        given: Dict[str, Any] = {**_given({"store": store, "purchaseToken": purchase_token, "transaction": transaction, "transactionId": transaction_id, "packageName": package_name})}
        return cast("Union[Subscription, Failure]", self._call("subscription.purchase", given, timeout_ms, signal))


class PlainEntitlementCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def current(
        self,
        *,
        proof: Optional[EntitlementCurrentProof] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[Entitlement, Failure]:
        """The caller's access now, and when it ends."""
        given: Dict[str, Any] = {**_given({"proof": proof})}
        return cast("Union[Entitlement, Failure]", self._call("entitlement.current", given, timeout_ms, signal))

    def first_run(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[RecordFirstRunReply, Failure]:
        """Records the app's first run, once, on the server's clock."""
        given: Dict[str, Any] = {}
        return cast("Union[RecordFirstRunReply, Failure]", self._call("entitlement.firstRun", given, timeout_ms, signal))


class PlainStoreCalls:
    def __init__(self, call: PlainCaller) -> None:
        self._call = call

    def provision(
        self,
        *,
        token: str,
        nonce: Optional[str] = None,
        move: Optional[bool] = None,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[SignInWithStoreReply, Failure]:
        """Signs in with Google, Apple or another OpenID provider. The first sign-in creates the account."""
        given: Dict[str, Any] = {"token": token, **_given({"nonce": nonce, "move": move})}
        return cast("Union[SignInWithStoreReply, Failure]", self._call("store.provision", given, timeout_ms, signal))

    def nonce(
        self,
        *,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[IssueNonceReply, Failure]:
        """Issues a nonce for one install proof."""
        given: Dict[str, Any] = {}
        return cast("Union[IssueNonceReply, Failure]", self._call("store.nonce", given, timeout_ms, signal))

    def install(
        self,
        *,
        nonce: str,
        integrity_token: str,
        timeout_ms: Optional[float] = None,
        signal: Optional[Signal] = None,
    ) -> Union[ProveInstallReply, Failure]:
        """Proves that an install of the app is genuine, with an integrity token made for a nonce."""
        given: Dict[str, Any] = {"nonce": nonce, "integrityToken": integrity_token}
        return cast("Union[ProveInstallReply, Failure]", self._call("store.install", given, timeout_ms, signal))


class PlainCalls:
    """Every call, by feature."""

    def __init__(self, call: PlainCaller) -> None:
        self.accounts = PlainAccountsCalls(call)
        self.sessions = PlainSessionsCalls(call)
        self.sign_ins = PlainSignInsCalls(call)
        self.coins = PlainCoinsCalls(call)
        self.highscores = PlainHighscoresCalls(call)
        self.catalogue = PlainCatalogueCalls(call)
        self.products = PlainProductsCalls(call)
        self.purchases = PlainPurchasesCalls(call)
        self.pairing = PlainPairingCalls(call)
        self.rooms = PlainRoomsCalls(call)
        self.trial = PlainTrialCalls(call)
        self.subscription = PlainSubscriptionCalls(call)
        self.entitlement = PlainEntitlementCalls(call)
        self.store = PlainStoreCalls(call)
