## What is watched, how its states are read, and where they go.
extends RefCounted

const Abort = preload("abort.gd")
const Json = preload("json.gd")
const Request = preload("request.gd")

## Between two reads of what the service does not long-poll.
const POLL_MS := 4000.0
const NEXT_CALLER_MS := 3000

## Whether the channel sends patches.
var patches := false
var path := ""
## The watch that shows this, with its signals.
var watch: RefCounted = null
var _client: Node = null


func _init(client: Node, live_path: String) -> void:
	_client = client
	path = live_path


## The hello of the present caller.
func caller() -> Dictionary:
	var credential: Dictionary = _client._identity.credential()
	if credential.has("authorization"):
		return {"type": "hello", "sessionToken": str(credential["authorization"]).trim_prefix("Bearer ")}
	return {"type": "hello", "installId": credential["x-install-id"]}


## Reads the present state or, given seconds to wait, the first state after the position.
func poll(_wait: int, _position: int, _abort: Abort) -> Dictionary:
	return {}


## The position of the state in a message. Below 0: it has no state.
func position_of(_message: Dictionary) -> int:
	return -1


## Passes on a state. Returns whether it is the last one.
func deliver(_message: Dictionary) -> bool:
	return false


## Passes on a message that has no state.
func other(_message: Dictionary) -> void:
	pass


## The message to send on a new connection, or an empty one.
func hello() -> Dictionary:
	return {}


## Called when a connection is open.
func opened() -> void:
	pass


## Whether the watch goes on after a final close, because another caller has signed in.
func goes_on() -> bool:
	return false


func _show(value: Variant) -> void:
	# Without one the watch has ended meanwhile.
	if watch:
		watch.emit_signal("news", value)


## A board, or the open rooms. The service sends them whole, and without positions: each text that differs from the last one gets the next
## number.
class List:
	extends "watched.gd"
	var _fields: Array[String] = []
	var _call := ""
	var _given := {}
	var _most := 0
	var _now := 0
	var _last := ""

	func _init(client: Node, live_path: String, fields: Array[String], call: String, given: Dictionary, most := 0) -> void:
		super(client, live_path)
		_fields = fields
		_call = call
		_given = given
		_most = most

	func read(abort: Abort) -> Dictionary:
		return await _client._once(_call, _given, {}, abort)

	func text_of(message: Dictionary) -> String:
		return Json.compact(shown(message)) if message.has(_fields[0]) else ""

	## A single field is shown as it is, more of them by their names.
	func shown(message: Dictionary) -> Variant:
		if _fields.size() == 1:
			return message[_fields[0]]
		var view := {}
		for field: String in _fields:
			view[field] = message.get(field)
		return view

	func poll(wait: int, _position: int, abort: Abort) -> Dictionary:
		# The service answers these reads at once, so the client waits before them.
		if wait:
			await Abort.sleep(_client._clock, POLL_MS, [abort])
			if abort.is_aborted:
				return Request.failure("aborted")
		var before := _now
		var reply := await read(abort)
		if not reply["ok"]:
			return reply
		# The channel may have more than this reply.
		var is_short: bool = reply.get("nextCursor") and (reply[_fields[0]] as Array).size() < _most
		# The socket has brought news since.
		return {"ok": true} if _now > before or (not wait and before and is_short) else reply

	func position_of(message: Dictionary) -> int:
		var text := text_of(message)
		return _now + int(text != _last) if text else -1

	func deliver(message: Dictionary) -> bool:
		_last = text_of(message)
		_now += 1
		_show(shown(message))
		return false


## The caller's account.
class Account:
	extends List
	var _account_id := ""
	var _greeted := {}
	var _before := {}
	var _greeted_at := 0.0
	var _is_new := true

	func _init(client: Node) -> void:
		super(client, "/v1/account/live", ["entitlement"], "coins.balance", {})

	func read(abort: Abort) -> Dictionary:
		var by: Dictionary = _client._identity.credential()
		var balance: Dictionary = await _client._once("coins.balance", {}, by, abort)
		if not balance["ok"]:
			return balance
		var reply: Dictionary = await _client._once("entitlement.current", {}, by, abort)
		return balance.merged({"entitlement": Request.picked(reply, ["state", "access", "expiresAt"])}, true) if reply["ok"] else reply

	func text_of(message: Dictionary) -> String:
		if not message.get("entitlement"):
			return ""
		var account: String = message.get("accountId", _account_id)
		return Json.compact([account, message.get("balanceCoins"), message.get("debtCoins"), message["entitlement"]])

	func shown(message: Dictionary) -> Variant:
		_account_id = message.get("accountId", _account_id)
		var view := {"accountId": _account_id} if _account_id else {}
		view.merge(message, true)
		for field: String in ["type", "ok", "version"]:
			view.erase(field)
		return view

	func opened() -> void:
		_is_new = true

	func hello() -> Dictionary:
		var greeting := caller()
		if greeting != _greeted:
			_account_id = ""
			_before = {} if _is_new else _greeted
			_greeted_at = _client._clock.now()
		_is_new = false
		_greeted = greeting
		return greeting

	func goes_on() -> bool:
		# The service may have closed the connection of the former caller before it got the hello of the present one.
		var is_recent: bool = _client._clock.now() - _greeted_at < NEXT_CALLER_MS
		var lost := _before if _before and is_recent else _greeted
		_before = {}
		for _turn: int in NEXT_CALLER_MS / 100:
			if caller() != lost:
				return true
			await Abort.sleep(_client._clock, 100, [])
		return false


## A pairing. With `claimed` the client has the session.
class Pairing:
	extends "watched.gd"
	var _pairing := {}
	var _since: Variant = null

	func _init(client: Node, pairing: Dictionary) -> void:
		super(client, "/v1/pair/live?token=" + Json.component(pairing.get("token", "")))
		_pairing = Request.picked(pairing, ["token", "secret"])

	func _status(more: Dictionary, abort: Abort, ms: float) -> Dictionary:
		return await _client._call("pairing.status", _pairing.merged(more), {"timeout_ms": ms, "abort": abort})

	func poll(wait: int, _position: int, abort: Abort) -> Dictionary:
		return await _status({"wait": wait, "since": _since} if wait else {}, abort, 30_000)

	func position_of(message: Dictionary) -> int:
		var status: Variant = message.get("status")
		return {"pending": 1, "scanned": 2}.get(status, 3) if status is String else -1

	func deliver(message: Dictionary) -> bool:
		_since = message["status"]
		# The channel brings only the status. A read gives the session, which the service keeps for ten minutes.
		var is_claimed: bool = message.has("type") and _since == "claimed"
		var reply := await _status({}, _client._closed, 600_000) if is_claimed else message
		_show({"status": _since}.merged(Request.picked(reply, ["claimedBy"])))
		return position_of(message) == 3


## A room, as a spectator or a player who only watches sees it.
class Room:
	extends "watched.gd"
	var code := ""
	var greets := true

	func _init(client: Node, room_code: String) -> void:
		super(client, "/v1/rooms/%s/live" % Json.component(room_code))
		code = room_code
		patches = true

	func poll(wait: int, position: int, abort: Abort) -> Dictionary:
		var given := {"code": code}
		if wait:
			given.merge({"since": position, "wait": wait})
		return await _client._once("rooms.read", given, {}, abort, wait * 1000 + Request.TRY_MS)

	func position_of(message: Dictionary) -> int:
		return message["room"]["seq"] if message.get("room") is Dictionary else -1

	func deliver(message: Dictionary) -> bool:
		_show(message["room"])
		return message["room"].get("phase") == "ended"

	func other(message: Dictionary) -> void:
		if message.get("error"):
			watch.emit_signal("failed", message["error"])
		elif message.get("you"):
			watch.emit_signal("you", message["you"])

	func hello() -> Dictionary:
		return caller() if greets else {}
