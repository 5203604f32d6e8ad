## The caller: the stored install and its session.
##
## An owner says who made an operation: `i` and an installId, `a` and an account id, or `s` and the token of a session whose account is not
## known yet.
extends RefCounted

const Json = preload("json.gd")
const Store = preload("store.gd")
const HOUR_MS := 3_600_000.0
## How often the client asks about the session, which lives 30 days, and whose token the service renews after half of that.
const ASK_MS := 24 * HOUR_MS

var _client: Node = null
var _store: Store = null
var _key := ""
var _given := ""
var _asked := -HOUR_MS
## The caller as this client last read or wrote it, because somebody may empty the store meanwhile.
var _known := {}


func _init(client: Node, store: Store, name: String, given: String) -> void:
	_client = client
	_store = store
	_key = "%s:me" % name
	_given = given


static func by_token(token: String) -> Dictionary:
	return {"authorization": "Bearer %s" % token}


static func by_install(install_id: String) -> Dictionary:
	return {"x-install-id": install_id}


## The stored caller, or a new install.
func load_me() -> Dictionary:
	var kept: Variant = _store.load_json(_key)
	if kept is Dictionary:
		var me: Dictionary = kept
		if me.get("installId") is String and (not _given or me["installId"] == _given):
			_known = me
			return me
	if _known and not _store.unread.has(_key):
		_client.call("_warn", "coinop: the store was emptied")
	return _save(_known if _known else {"installId": _given if _given else Store.random_text()})


func _save(me: Dictionary) -> Dictionary:
	_known = {}
	for field: String in me:
		if me[field] != null:
			_known[field] = me[field]
	_store.put(_key, Json.compact(_known))
	return _known


func _moved(me: Dictionary, more := {}) -> Dictionary:
	return (me.get("moved", {}) as Dictionary).merged(more, true)


func _renew(token: String) -> void:
	_asked = _client._clock.now()
	var reply: Dictionary = await _client._repeat("sessions.current", {}, -1, null, by_token.bind(token))
	var me := load_me()
	# The result is dropped if another sign-in or sign-out came in the meantime.
	if reply.get("accountId") and me.get("sessionToken") == token:
		var moved := _moved(me, {} if me.get("accountId") else {"s" + token: reply["accountId"]})
		var session := {"accountId": reply["accountId"], "sessionToken": reply.get("sessionToken", token)}
		_save(me.merged(session, true).merged({"askedAt": _client._clock.wall(), "moved": moved}, true))


func install() -> Dictionary:
	return by_install(load_me()["installId"])


## The headers that name the caller.
func credential() -> Dictionary:
	var me := load_me()
	if not me.get("sessionToken"):
		return by_install(me["installId"])
	# By two clocks: if that of the device jumps, in either direction, that costs one more request and no delay.
	var clock: RefCounted = _client._clock
	if absf(clock.wall() - me.get("askedAt", 0)) > ASK_MS and clock.now() - _asked >= HOUR_MS:
		_renew(me["sessionToken"])
	return by_token(me["sessionToken"])


func owner() -> String:
	var me := load_me()
	if not me.get("sessionToken") or me.get("isOwn"):
		return "i" + str(me["installId"])
	return "a" + str(me["accountId"]) if me.get("accountId") else "s" + str(me["sessionToken"])


## The headers for an operation of this owner. Null: it can only be sent after a sign-in.
func credential_of(whose: String) -> Variant:
	var me := load_me()
	var into: String = _moved(me).get(whose, whose.substr(1) if whose[0] == "a" else "")
	if not into:
		return by_token(whose.substr(1)) if whose[0] == "s" else by_install(whose.substr(1))
	return by_token(me["sessionToken"]) if me.get("sessionToken") and me.get("accountId") == into else null


## Keeps the session of a sign-in. `moved_from`: the owner whose guest moved into the account by it.
func signed_in(reply: Dictionary, is_own: bool, moved_from: String) -> void:
	var me := load_me()
	var account: Variant = reply.get("accountId")
	_save({
		"installId": me["installId"],
		"sessionToken": reply["sessionToken"],
		"accountId": account,
		"isOwn": is_own,
		"askedAt": _client._clock.wall() if account else null,
		"moved": _moved(me, {moved_from: account} if moved_from else {}),
	})
	if not account:
		await _renew(reply["sessionToken"])


## Forgets the session. An install whose account moved or was deleted gives no access any more: the client makes a new one.
func signed_out(is_deleted: bool) -> void:
	var me := load_me()
	var is_over: bool = is_deleted or _moved(me).has("i" + str(me["installId"]))
	_save({"installId": Store.random_text() if is_over and not _given else me["installId"], "moved": me.get("moved")})
