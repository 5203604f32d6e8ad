## The unfinished coin operations and purchases.
##
## Each is stored before it is sent. They are sent one after the other, in the order of the calls, each under the same idempotency key until
## the service has answered.
extends RefCounted

const Abort = preload("abort.gd")
const Json = preload("json.gd")
const Later = preload("later.gd")
const Request = preload("request.gd")
const Store = preload("store.gd")

## The call of each type of operation.
const OPERATIONS := {"credit": "coins.credit", "purchase": "coins.purchase", "debit": "coins.debit", "buy": "purchases.buy"}
## The most milliseconds of a try for which the service asks the app store, which takes up to 17 s.
const PURCHASE_MS := 20_000.0
## The statuses of a final refusal: nothing was changed, and the same operation would be refused again.
const DEFINITE: Array[int] = [400, 403, 409, 410, 413, 422]

var _client: Node = null
var _store: Store = null
var _prefix := ""
## The operations that this client has made. It finishes them even if the store loses them.
var _own := {}
var _queue: Array[String] = []
var _held: Array[String] = []
var _held_owners: Array[String] = []
var _has_adopted := false
var _is_running := false
var _is_retrying := false
var _tries := 0
var _last_stamp := 0
var _last_failure := {}
var _waking := Abort.new()
var _stamped := RegEx.create_from_string("^[0-9]{15}$")
var _owned := RegEx.create_from_string("^[ais][!-~]+$")


class Own:
	var operation := {}
	var owner := ""
	var done := Later.new()


func _init(client: Node, store: Store, name: String, closed: Abort) -> void:
	_client = client
	_store = store
	_prefix = "%s:op:" % name
	closed.listen(_end)


func _end() -> void:
	for own: Own in _own.values():
		own.done.settle(Request.failure("aborted").merged({"pending": true}))


func _remove(key: String) -> void:
	_own.erase(key)
	_store.put(key)


## Takes over the operations of the store that this client does not know, from an earlier start.
func _adopt() -> void:
	_has_adopted = true
	for key: String in _store.keys(_prefix):
		if not (_queue.has(key) or _held.has(key) or _own.has(key)):
			_queue.append(key)
		# New operations come after the stored ones, even if the clock was ahead when one of these was made.
		var stamp := key.substr(_prefix.length(), key.length() - _prefix.length() - 24)
		if _stamped.search(stamp):
			_last_stamp = maxi(_last_stamp, stamp.to_int())
	_queue.sort()


## The operation and its owner, or an empty list.
func _entry(key: String) -> Array:
	if _own.has(key):
		var own: Own = _own[key]
		return [own.operation, own.owner]
	if _store.read(key) == null:
		return []
	var found: Variant = _store.load_json(key)
	if found is Array and (found as Array).size() == 2 and found[0] is Dictionary and found[1] is String:
		if OPERATIONS.has((found[0] as Dictionary).get("type")) and _owned.search(found[1]):
			return found
	# The store was damaged, or another program wrote the entry.
	_remove(key)
	return []


## Sends one operation. Returns the failure after which it has to be sent again, or an empty one.
func _finish(key: String) -> Dictionary:
	var entry := _entry(key)
	if not entry:
		return {}
	var operation: Dictionary = entry[0]
	var owner: String = entry[1]
	var own: Own = _own.get(key)
	var given := operation.duplicate()
	var kind: String = operation["type"]
	given.erase("type")
	var credential: Variant = null if _held_owners.has(owner) else _client._identity.credential_of(owner)
	var try_ms := PURCHASE_MS if kind == "buy" else Request.TRY_MS
	var result: Dictionary = await _client._once(OPERATIONS[kind], given, credential, _client._closed, try_ms)
	if result["ok"] and not result.has("balanceAfterCoins"):
		# Another server has answered.
		return Request.failure("not_coinop")
	var status: int = result.get("status", 0)
	# `bad_token` is final too: the app store does not know the purchase, and another caller would not change that.
	if result["ok"] or status in DEFINITE or result["error"]["code"] == "bad_token":
		_remove(key)
	elif status == 401:
		_held_owners.append(owner)
		_held.append(key)
		result["pending"] = true
	elif kind == "buy" and status:
		# The app store is down, or the catalogue lacks the product. Coin operations must not wait for that.
		_own.erase(key)
		result["pending"] = true
		_retry()
	else:
		return result
	if own:
		own.done.settle(result)
	(_client.purchase_done if kind == "buy" else _client.operation_done).emit(operation, result)
	return {}


func _retry() -> void:
	if _is_retrying:
		return
	_is_retrying = true
	await Abort.sleep(_client._clock, 60_000, [_client._closed])
	_is_retrying = false
	wake()


## Finishes the operations one after the other.
func _run() -> void:
	var closed: Abort = _client._closed
	while not closed.is_aborted:
		if not _has_adopted:
			_adopt()
		if not _queue:
			break
		var key := _queue[0]
		_last_failure = await _finish(key)
		if not _last_failure:
			_queue.erase(key)
			_tries = 0
		else:
			_waking = Abort.new()
			var wait := Request.backoff(_tries, _last_failure["error"], 15_000)
			_tries += 1
			await Abort.sleep(_client._clock, wait, [_waking, closed])
	_is_running = false


func _start() -> void:
	if not _is_running and not _client._closed.is_aborted:
		_is_running = true
		_run()


## Tries again at once, and takes over what an earlier start has left.
func wake() -> void:
	_has_adopted = false
	_waking.abort()
	_start()


## Tries the operations again that waited for a sign-in.
func resume() -> void:
	_queue.append_array(_held)
	_queue.sort()
	_held.clear()
	_held_owners.clear()
	wake()


func discard_held() -> void:
	for key: String in _held:
		_remove(key)
	_held.clear()


## Keeps an operation, and sends it. When the time is up it goes on, and the result has `pending`.
func operate(kind: String, given: Dictionary, abort: Abort, timeout_ms: float) -> Dictionary:
	if Abort.is_any([abort, _client._closed]):
		return Request.failure("aborted")
	var own := Own.new()
	own.operation = given.merged({"type": kind}, true)
	own.owner = _client._identity.owner()
	# The app store's own id makes a purchase unique.
	if kind != "buy" and given.get("key") == null:
		own.operation["key"] = Store.random_text()
	var text := Json.compact([own.operation, own.owner])
	if not text:
		return Request.failure("invalid_request", "The input is no JSON")
	if not _has_adopted:
		_adopt()
	# The time in the key rises even if the clock is set back, so that the keys keep the order of the operations.
	_last_stamp = maxi(_last_stamp + 1, int(_client._clock.wall()))
	var key := "%s%015d%s" % [_prefix, maxi(_last_stamp, 0), Store.random_text()]
	_own[key] = own
	_store.put(key, text)
	_queue.append(key)
	_start()

	var whole := Abort.within(_client._clock, timeout_ms, [abort])
	var result: Variant = await whole.result_of(own.done)
	whole.release()
	if result is Dictionary:
		return result
	var last := {} if Abort.is_any([abort]) else _last_failure
	return (last if last else Request.stopped_by([abort])).merged({"pending": true}, true)
