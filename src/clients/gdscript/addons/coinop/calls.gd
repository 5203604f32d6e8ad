## Every call of the API, by feature. Made from the OpenAPI document by `npm run build:clients`.
##
## A call takes the fields that it needs, and the others in a dictionary: `credit(5, {key = "level-3"})`. There `timeout_ms` is the most
## milliseconds of the call with its repetitions, and `abort` a [CoinopAbort]. Every call gives a dictionary: of a success `ok` is true, and it
## has the fields that are named here; of a failure `ok` is false, and `error` has a `code`.
extends Node

const API_VERSION := "1"

const ROUTES := {
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

var accounts: Accounts = null
var sessions: Sessions = null
var sign_ins: SignIns = null
var coins: Coins = null
var highscores: Highscores = null
var catalogue: Catalogue = null
var products: Products = null
var purchases: Purchases = null
var pairing: Pairing = null
var rooms: Rooms = null
var trial: Trial = null
var subscription: Subscription = null
var entitlement: Entitlement = null
var store: Store = null


func _init(call: Callable) -> void:
	accounts = Accounts.new(call)
	sessions = Sessions.new(call)
	sign_ins = SignIns.new(call)
	coins = Coins.new(call)
	highscores = Highscores.new(call)
	catalogue = Catalogue.new(call)
	products = Products.new(call)
	purchases = Purchases.new(call)
	pairing = Pairing.new(call)
	rooms = Rooms.new(call)
	trial = Trial.new(call)
	subscription = Subscription.new(call)
	entitlement = Entitlement.new(call)
	store = Store.new(call)


class Feature:
	extends RefCounted
	var _call := Callable()

	func _init(call: Callable) -> void:
		_call = call


class Accounts:
	extends Feature

	## Finds the account of an install, and creates it the first time.
	## Gives `accountId` String, `created` bool.
	func resolve(more := {}) -> Dictionary:
		return await _call.call("accounts.resolve", {}, more)

	## All that is kept about the caller, in pages.
	## More: `cursor` String.
	## Gives `accountId` String, `account` Dictionary, `signIns` Array, `sessions` Array, `trial` Dictionary, `gift` Dictionary, `givenName` Dictionary, `scores` Array, `seats` Array, `saves` Array, `subscriptionReport` Dictionary, `purchases` Array, `coinPurchases` Array, `balanceCoins` int, `debtCoins` int, `entries` Array, `nextCursor` String.
	func export(more := {}) -> Dictionary:
		return await _call.call("accounts.export", {}, more)

	## Deletes an account for good, in two calls.
	## More: `token` String, `confirm` String, `authorizationCode` String.
	## Gives `deleted` bool, `accountId` String, `confirm` String, `expiresAt` String, `balanceCoins` int, `debtCoins` int, `appleRevoked` bool.
	func delete(more := {}) -> Dictionary:
		return await _call.call("accounts.delete", {}, more)

	## The caller's ids for app stores, which bind a purchase to the account.
	## Gives `googleAccountId` String, `appleAccountToken` String.
	func store_ids(more := {}) -> Dictionary:
		return await _call.call("accounts.storeIds", {}, more)


class Sessions:
	extends Feature

	## Signs in with an installId, and sets the session cookie svc_session or answers with the session token.
	## Gives `accountId` String, `expiresAt` String, `sessionToken` String.
	func login(more := {}) -> Dictionary:
		return await _call.call("sessions.login", {}, more)

	## Signs out: the session ends on every process at once.
	## More: `everywhere` bool.
	func logout(more := {}) -> Dictionary:
		return await _call.call("sessions.logout", {}, more)

	## Tells whether the session is valid, and for which account.
	## Gives `authenticated` bool, `accountId` String, `expiresAt` String, `sessionToken` String, `installVerified` bool.
	func current(more := {}) -> Dictionary:
		return await _call.call("sessions.current", {}, more)

	## The sessions of the caller's account: its signed-in browsers.
	## Gives `sessions` Array.
	func list(more := {}) -> Dictionary:
		return await _call.call("sessions.list", {}, more)

	## Ends one session of the caller's account, on every process at once.
	## Gives `current` bool.
	func end(id: String, more := {}) -> Dictionary:
		return await _call.call("sessions.end", {"id": id}, more)


class SignIns:
	extends Feature

	## The sign-ins of the session's account: the providers with which its user signs in.
	## Gives `signIns` Array.
	func list(more := {}) -> Dictionary:
		return await _call.call("signIns.list", {}, more)

	## A nonce for the token of the sign-in that the session's account is to get.
	## Gives `nonce` String, `expiresAt` String.
	func nonce(more := {}) -> Dictionary:
		return await _call.call("signIns.nonce", {}, more)

	## Adds a sign-in to the session's account, or merges the account that the sign-in has.
	## More: `proof` String, `confirm` String.
	## Gives `signIns` Array, `added` bool, `merged` bool, `movedCoins` int, `movedDebtCoins` int.
	func add(token: String, more := {}) -> Dictionary:
		return await _call.call("signIns.add", {"token": token}, more)

	## Removes a sign-in from the session's account.
	## More: `proof` String.
	## Gives `current` bool.
	func remove(id: String, more := {}) -> Dictionary:
		return await _call.call("signIns.remove", {"id": id}, more)


class Coins:
	extends Feature

	## The caller's coin balance. It is 0 for an unknown install.
	## Gives `balanceCoins` int, `debtCoins` int.
	func balance(more := {}) -> Dictionary:
		return await _call.call("coins.balance", {}, more)

	## Adds coins, once per key.
	## More: `key` String.
	## Gives `balanceAfterCoins` int, `replayed` bool, `balanceCoins` int, `debtCoins` int.
	func credit(coins: int, more := {}) -> Dictionary:
		return await _call.call("coins.credit", {"coins": coins}, more)

	## Adds bought coins, once per key.
	## More: `key` String.
	## Gives `balanceAfterCoins` int, `replayed` bool, `balanceCoins` int, `debtCoins` int.
	func purchase(coins: int, more := {}) -> Dictionary:
		return await _call.call("coins.purchase", {"coins": coins}, more)

	## Removes coins, once per key, and never more than the balance.
	## More: `key` String.
	## Gives `balanceAfterCoins` int, `replayed` bool, `balanceCoins` int, `debtCoins` int.
	func debit(coins: int, more := {}) -> Dictionary:
		return await _call.call("coins.debit", {"coins": coins}, more)

	## The caller's ledger, newest entry first.
	## More: `limit` int, `cursor` String.
	## Gives `entries` Array, `nextCursor` String.
	func history(more := {}) -> Dictionary:
		return await _call.call("coins.history", {}, more)


class Highscores:
	extends Feature

	## A game's ten best scores; an empty list for a game without scores.
	## More: `season` String.
	## Gives `game` String, `top` Array, `you` Variant, `season` Dictionary.
	func top(game: String, more := {}) -> Dictionary:
		return await _call.call("highscores.top", {"game": game}, more)

	## Submits a score to a game's board, which keeps each account's best score.
	## Gives `rank` int, `best` float, `personalBest` bool, `top` Array, `season` Dictionary.
	func submit(game: String, score: float, name: String, more := {}) -> Dictionary:
		return await _call.call("highscores.submit", {"game": game, "score": score, "name": name}, more)

	## A page of a game's board, best first.
	## More: `limit` int, `cursor` String, `season` String.
	## Gives `game` String, `entries` Array, `nextCursor` String, `season` Dictionary.
	func entries(game: String, more := {}) -> Dictionary:
		return await _call.call("highscores.entries", {"game": game}, more)

	## The caller's entry on a game's board, and the entries around it.
	## More: `playerId` String, `season` String, `limit` int.
	## Gives `game` String, `you` Variant, `entries` Array, `season` Dictionary.
	func around(game: String, more := {}) -> Dictionary:
		return await _call.call("highscores.around", {"game": game}, more)


class Catalogue:
	extends Feature

	## The apps and games of the portfolio.
	## Gives `apps` Array, `count` int.
	func list(more := {}) -> Dictionary:
		return await _call.call("catalogue.list", {}, more)


class Products:
	extends Feature

	## The coins that the app stores sell.
	## Gives `products` Array, `count` int.
	func list(more := {}) -> Dictionary:
		return await _call.call("products.list", {}, more)


class Purchases:
	extends Feature

	## Books coins that were bought in an app store, once the store confirms it.
	## More: `purchaseToken` String, `transaction` String, `transactionId` String.
	## Gives `purchase` Dictionary, `balanceAfterCoins` int, `replayed` bool, `balanceCoins` int, `debtCoins` int.
	func buy(store: String, more := {}) -> Dictionary:
		return await _call.call("purchases.buy", {"store": store}, more)

	## The caller's purchases of coins, newest first.
	## More: `limit` int, `cursor` String.
	## Gives `purchases` Array, `nextCursor` String.
	func list(more := {}) -> Dictionary:
		return await _call.call("purchases.list", {}, more)


class Pairing:
	extends Feature

	## Opens a pairing: a token for a website to show as a QR code and an app to claim.
	## Gives `token` String, `pairingId` String, `secret` String, `expiresIn` int, `interval` int, `matchCode` String, `url` String.
	func open(more := {}) -> Dictionary:
		return await _call.call("pairing.open", {}, more)

	## Claims a pairing for the caller's account, so that the browser that opened it can sign in.
	## More: `step` "scan" or "confirm" or "deny", `name` String.
	## Gives `status` "pending" or "scanned" or "claimed" or "denied" or "expired", `matchCode` String, `requester` Dictionary.
	func claim(token: String, more := {}) -> Dictionary:
		return await _call.call("pairing.claim", {"token": token}, more)

	## Reads the status of a pairing. Once it is claimed, signs in the browser that opened it.
	## More: `wait` int, `since` "pending" or "scanned" or "claimed" or "denied" or "expired", `secret` String.
	## Gives `status` "pending" or "scanned" or "claimed" or "denied" or "expired", `sessionToken` String, `claimedBy` Dictionary.
	func status(token: String, more := {}) -> Dictionary:
		return await _call.call("pairing.status", {"token": token}, more)


class Rooms:
	extends Feature

	## Opens a room with the caller as host and first player.
	## More: `name` String, `minPlayers` int, `state` Variant, `writers` "host" or "players" or "server", `tags` Variant, `seatGraceSeconds` Variant, `startWhenFull` bool, `game` String, `maxPlayers` int, `public` bool.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func create(more := {}) -> Dictionary:
		return await _call.call("rooms.create", {}, more)

	## The public rooms that can be joined, newest first.
	## More: `game` String, `limit` int, `cursor` String, `tags` Dictionary.
	## Gives `rooms` Array, `nextCursor` String.
	func list(more := {}) -> Dictionary:
		return await _call.call("rooms.list", {}, more)

	## A room's public state.
	## More: `since` int, `wait` int.
	## Gives `room` Dictionary.
	func read(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.read", {"code": code}, more)

	## Gives a player a ticket that proves the seat to the game's own server.
	## Gives `ticket` String, `playerId` String, `expiresIn` int.
	func ticket(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.ticket", {"code": code}, more)

	## Takes a seat in the lobby. A caller who joins again, in any phase, gets the same seat.
	## More: `name` String.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func join(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.join", {"code": code}, more)

	## Gives up the seat, in any phase. If the host leaves, the player who has been seated longest becomes the host. When the last player leaves, the room ends.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func leave(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.leave", {"code": code}, more)

	## Tells the other players that the caller is ready.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func ready(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.ready", {"code": code}, more)

	## Tells the other players that the caller is not ready.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func unready(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.unready", {"code": code}, more)

	## The host moves the room from lobby to playing. A repeated call is answered with 200.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func start(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.start", {"code": code}, more)

	## The host ends the room, in any phase. A repeated call is answered with 200.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func end(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.end", {"code": code}, more)

	## The host removes another player, who then cannot join again.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func kick(code: String, player_id: String, more := {}) -> Dictionary:
		return await _call.call("rooms.kick", {"code": code, "playerId": player_id}, more)

	## The host makes another player the host.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func transfer(code: String, player_id: String, more := {}) -> Dictionary:
		return await _call.call("rooms.transfer", {"code": code, "playerId": player_id}, more)

	## The host locks the room, which then refuses new players.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func lock(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.lock", {"code": code}, more)

	## The host unlocks the room, which then accepts new players again.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func unlock(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.unlock", {"code": code}, more)

	## The host changes the settings of the lobby.
	## More: `public` bool, `tags` Variant, `minPlayers` int, `maxPlayers` int, `writers` "host" or "players" or "server", `seatGraceSeconds` Variant.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func settings(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.settings", {"code": code}, more)

	## Replaces the game's public state, or merges into it.
	## More: `state` Variant, `merge` Variant, `ifStateSeq` int.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func state(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.state", {"code": code}, more)

	## Sets the caller's own public data, or merges into it.
	## More: `data` Variant, `merge` Variant.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func data(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.data", {"code": code}, more)

	## The host gives players private parts, such as a hand of cards. No player sees the part of another.
	## More: `state` Variant, `merge` Variant, `ifStateSeq` int.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func private(code: String, seats: Variant, more := {}) -> Dictionary:
		return await _call.call("rooms.private", {"code": code, "seats": seats}, more)

	## Sends a message to the channels of the room.
	## More: `to` Array.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func message(code: String, data: Variant, more := {}) -> Dictionary:
		return await _call.call("rooms.message", {"code": code, "data": data}, more)

	## The host opens a lobby with the same game and settings, named by `nextCode`. Repeating it gives the same `nextCode`.
	## Gives `room` Dictionary, `you` Dictionary, `away` Array, `replayed` bool.
	func rematch(code: String, more := {}) -> Dictionary:
		return await _call.call("rooms.rematch", {"code": code}, more)


class Saves:
	extends Feature

	## The saves of a player in a game, without their data.
	## Gives `saves` Array.
	func list(game: String, more := {}) -> Dictionary:
		return await _call.call("saves.list", {"game": game}, more)

	## Deletes a save with all its versions.
	## More: `ifVersion` int.
	## Gives `deleted` bool.
	func delete(game: String, name: String, more := {}) -> Dictionary:
		return await _call.call("saves.delete", {"game": game, "name": name}, more)


class Trial:
	extends Feature

	## Starts a device's trial. Later calls only answer with its state.
	## Gives `active` bool, `state` "none" or "active" or "expired", `startedAt` String, `expiresAt` String, `remainingSeconds` int.
	func touch(device_id: String, more := {}) -> Dictionary:
		return await _call.call("trial.touch", {"deviceId": device_id}, more)

	## The state of a trial. The call does not start a trial.
	## More: `deviceId` String.
	## Gives `active` bool, `state` "none" or "active" or "expired", `startedAt` String, `expiresAt` String, `remainingSeconds` int.
	func current(more := {}) -> Dictionary:
		return await _call.call("trial.current", {}, more)

	## Links the device's trial to the signed-in account.
	## Gives `active` bool, `state` "none" or "active" or "expired", `startedAt` String, `expiresAt` String, `remainingSeconds` int.
	func link(more := {}) -> Dictionary:
		return await _call.call("trial.link", {}, more)


class Subscription:
	extends Feature

	## Whether the caller's subscription gives access now, and the source of that state.
	## Gives `subscribed` bool, `state` "active" or "grace" or "on_hold" or "paused" or "canceled" or "expired" or "pending" or "none", `source` "store" or "report" or "none", `verified` bool, `productId` String, `expiresAt` String, `willRenew` bool.
	func current(more := {}) -> Dictionary:
		return await _call.call("subscription.current", {}, more)

	## Records the app's report that its user subscribes or no longer subscribes.
	## Gives `recorded` bool.
	func report(subscribed: bool, more := {}) -> Dictionary:
		return await _call.call("subscription.report", {"subscribed": subscribed}, more)

	## Records a subscription bought in the app store, once the app store confirms it.
	## More: `store` "google" or "apple", `purchaseToken` String, `transaction` String, `transactionId` String, `packageName` String.
	## Gives `subscribed` bool, `state` "active" or "grace" or "on_hold" or "paused" or "canceled" or "expired" or "pending" or "none", `source` "store" or "report" or "none", `verified` bool, `productId` String, `expiresAt` String, `willRenew` bool.
	func purchase(more := {}) -> Dictionary:
		return await _call.call("subscription.purchase", {}, more)


class Entitlement:
	extends Feature

	## The caller's access now, and when it ends.
	## More: `proof` "1".
	## Gives `state` "subscribed" or "grace" or "trial" or "expired" or "none", `access` bool, `expiresAt` String, `firstRunAt` String, `source` "gift", `installVerified` bool, `proof` String.
	func current(more := {}) -> Dictionary:
		return await _call.call("entitlement.current", {}, more)

	## Records the app's first run, once, on the server's clock.
	## Gives `firstRunAt` String.
	func first_run(more := {}) -> Dictionary:
		return await _call.call("entitlement.firstRun", {}, more)


class Store:
	extends Feature

	## Signs in with Google, Apple or another OpenID provider. The first sign-in creates the account.
	## More: `nonce` String, `move` bool.
	## Gives `accountId` String, `provider` String, `created` bool, `expiresAt` String, `sessionToken` String, `moved` bool, `movedCoins` int, `movedDebtCoins` int, `notMoved` "not_a_guest" or "from_pairing" or "too_many_guests" or "balance_limit".
	func provision(token: String, more := {}) -> Dictionary:
		return await _call.call("store.provision", {"token": token}, more)

	## Issues a nonce for one install proof.
	## Gives `nonce` String, `expiresIn` int.
	func nonce(more := {}) -> Dictionary:
		return await _call.call("store.nonce", {}, more)

	## Proves that an install of the app is genuine, with an integrity token made for a nonce.
	## Gives `installVerified` bool, `packageName` String, `accountId` String.
	func install(nonce: String, integrity_token: String, more := {}) -> Dictionary:
		return await _call.call("store.install", {"nonce": nonce, "integrityToken": integrity_token}, more)
