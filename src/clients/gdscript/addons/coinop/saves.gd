## The saves of a player: what a game keeps under a name. Nothing is lost on the way, and of each name only the newest is sent.
extends "calls.gd".Saves

const Abort = preload("abort.gd")
const Json = preload("json.gd")
const Later = preload("later.gd")
const Request = preload("request.gd")
const Store = preload("store.gd")

const CALL_MS := 15_000.0
## The most texts of unknown outcome that are remembered.
const MOST_SENT := 16

var _client: Node = null
var _store: Store = null
var _prefix := ""
var _device := ""
## The last result of each save, for calls whose data a newer call has replaced.
var _results := {}
## The version of each save that this start has got or made. A new save is based on it. So a later version, such as a merge in the
## background, is in conflict with what the game makes without it.
var _known := {}
## The last turn of each save.
var _turns := {}
var _is_waiting := false
var _tries := 0


func _init(client: Node, store: Store, name: String, device: String) -> void:
	super(client.get("_call"))
	_client = client
	_store = store
	_prefix = "%s:save:" % name
	_device = device


## Sends all saves that wait.
func wake() -> void:
	for key: String in _store.keys(_prefix):
		await _flush(key).result()


## Keeps data as the newest save of the name, and sends it, later if the service does not answer (`pending`). Continue with the `data` of the
## result: after a conflict it is the merge.
func save(game: String, name: String, data: Variant) -> Dictionary:
	var text := Json.compact(data)
	if not text:
		return Request.failure("invalid_request", "The data is no JSON", {"field": "data"})
	var owner: String = _client._identity.owner()
	var key := _key(owner, game, name)
	# What an earlier start has sent is not part of a save that this one makes without a load.
	var sent: Array = _kept(key).get("sent", []) if _known.has(key) else []
	var version: int = _known.get_or_add(key, 0)
	_put(key, {"owner": owner, "game": game, "name": name, "version": version, "sent": sent, "text": text})

	var whole := Abort.within(_client._clock, CALL_MS, [])
	var turn := _flush(key)
	var settled: Variant = await whole.result_of(turn)
	whole.release()
	var now := _kept(key)
	if settled == null and turn.is_done:
		return {"ok": true, "version": now.get("version", 0), "updatedAt": now.get("updatedAt", ""), "data": data}
	var result: Dictionary = settled if settled is Dictionary else Request.failure("timeout").merged({"pending": true})
	if result["ok"]:
		_has(key, result["version"])
	return result.merged({"data": _give(key, now)}, true) if result.has("pending") and now.has("text") else result


## Reads a save. One that waits to be sent is sent first, and given (`pending`) while the service does not answer.
func load(game: String, name: String, more := {}) -> Dictionary:
	var owner: String = _client._identity.owner()
	var key := _key(owner, game, name)
	var before: Variant = _known.get(key)
	if _kept(key).has("text"):
		await _flush(key).result()
	var kept := _kept(key)
	var of := {"game": game, "name": name}
	var reply: Dictionary = await _client._call("saves.load", of, more)
	var is_none: bool = not reply["ok"] and reply["error"]["code"] == "save_not_found"
	var is_kept: bool = kept.has("text") and (reply["ok"] or is_none or Request.is_temporary(reply["error"]))
	var version: Variant = kept["version"] if is_kept else reply["version"] if reply["ok"] else 0 if is_none else null
	# The game may have made a save meanwhile, which is newer than what was loaded.
	if version != null and _known.get(key) == before:
		_known[key] = version
	if is_kept:
		return {"ok": true, "name": name, "version": kept["version"], "data": _give(key, kept), "pending": true}
	if not reply["ok"] or not reply.has("other"):
		return reply
	var found: Dictionary = await _client._call("saves.load", of.merged({"version": reply["other"]["version"]}), more)
	if not found["ok"]:
		return reply
	var text := Json.compact(await _merged(_saved(reply), _saved(found), of))
	var merge := of.merged({"owner": owner, "version": reply["version"], "sent": [], "text": text, "isMerge": true})
	if not _kept(key).has("text"):
		_put(key, merge)
	var settled: Variant = await _flush(key).result()
	if settled and settled["ok"]:
		_has(key, settled["version"])
	if settled and not settled.has("pending"):
		return (settled as Dictionary).merged({"name": name}, true)
	return {"ok": true, "name": name, "version": reply["version"], "data": _give(key, merge), "pending": true}


func _key(owner: String, game: String, name: String) -> String:
	return "%s%s:%s/%s" % [_prefix, _mark(owner), game, name]


## What the store keeps of a save: `text` is what waits to be sent, `sent` marks texts whose outcome is not known, without merges, and
## `isMerge` says that the game does not have the text yet.
func _kept(key: String) -> Dictionary:
	var kept: Variant = _store.load_json(key)
	return kept if kept is Dictionary else {}


func _put(key: String, kept: Dictionary) -> void:
	_store.put(key, Json.compact(kept))


## Notes a version that the game has.
func _has(key: String, version: int) -> void:
	if _known.has(key):
		_known[key] = maxi(version, _known[key])


## Gives the game what waits.
func _give(key: String, kept: Dictionary) -> Variant:
	_has(key, kept["version"])
	var now := _kept(key)
	if now.get("text") == kept["text"]:
		_put(key, now.merged({"isMerge": false}, true))
	return _data_of(kept["text"])


## The game's own data keeps the numbers of Godot's JSON.
static func _data_of(text: String) -> Variant:
	return Json.parse("{\"data\":%s}" % text)["data"]


## What the game keeps of two. Null from the game: its own.
func _merged(mine: Dictionary, theirs: Dictionary, of: Dictionary) -> Variant:
	var on_conflict: Callable = _client.get("on_conflict")
	var data: Variant = await on_conflict.call(mine, theirs, of) if on_conflict.is_valid() else null
	return mine["data"] if data == null else data


## Sends what is kept under the key once. Null: something newer is kept.
func _send_once(key: String, kept: Dictionary, by: Dictionary) -> Variant:
	var of := {"game": kept["game"], "name": kept["name"]}
	var text: String = kept["text"]
	var is_merge: bool = kept.get("isMerge", false)
	var data: Variant = _data_of(text)
	if not is_merge:
		var mark := _mark_of(text)
		var sent: Array = kept["sent"].filter(func(other: String) -> bool: return other != mark)
		_put(key, kept.merged({"sent": (sent + [mark]).slice(-MOST_SENT)}, true))
	var given := of.merged({"data": data, "ifVersion": kept["version"]})
	if _device:
		given["device"] = _device
	var result: Dictionary = await _client._once("saves.save", given, by, _client._closed)
	# The next start of the game sends it again: its client may have begun already.
	if _client._closed.is_aborted:
		return Request.failure("aborted")
	if result["ok"]:
		if not is_merge:
			_has(key, result["version"])
		var outcome := {"version": result["version"], "updatedAt": result["updatedAt"]}
		return result.merged({"data": data}, true) if _settle(key, kept, result, outcome) else null
	var error: Dictionary = result["error"]
	if error["code"] == "stale_save":
		# An earlier save of this device stands, whose answer was lost. Or the save was deleted elsewhere: then this one begins anew.
		var is_own: bool = error["version"] == 0 or _mark_of(Json.compact(error.get("data"))) in kept["sent"]
		# A newer save meets the conflict itself.
		if _kept(key).get("text") != text:
			return null
		var left := text if is_own else Json.compact(await _merged({"data": data}, _saved(error), of))
		_settle(key, kept, result, {"version": error["version"], "text": left, "isMerge": is_merge or left != text})
		return null
	return result if _may_pass(result) or _settle(key, kept, result, {}) else null


## Notes the outcome and what there is to send, unless the game has made a newer save. Returns whether nothing waits.
func _settle(key: String, kept: Dictionary, result: Dictionary, outcome: Dictionary) -> bool:
	var latest := _kept(key)
	if not latest:
		latest = kept.duplicate()
	if latest.get("text") == kept["text"]:
		latest.erase("text")
		latest.merge(outcome, true)
		latest["sent"] = []
	elif result["ok"] and not kept.get("isMerge"):
		latest.merge({"version": result["version"], "sent": []}, true)
	_put(key, latest)
	return not latest.has("text")


## Sends the save, and any newer one that is made meanwhile, until the service has the newest or does not answer.
func _send(key: String) -> Variant:
	while true:
		var kept := _kept(key)
		if not kept.has("text"):
			return _results.get(key)
		if _client._closed.is_aborted:
			return Request.failure("aborted").merged({"pending": true})
		var by: Variant = _client._identity.credential_of(kept["owner"])
		var found: Variant = Request.failure("sign_in_required").merged({"status": 401})
		if by != null:
			found = await _send_once(key, kept, by)
		if found == null:
			continue
		var result: Dictionary = found
		var waits: bool = not result["ok"] and _may_pass(result)
		if waits:
			result.merge({"pending": true, "data": _data_of(kept["text"])}, true)
			_retry(result["error"])
		else:
			_tries = 0
		_results[key] = result
		var saved: Signal = _client.get("saved")
		if saved.has_connections() and waits:
			_give(key, kept)
		if saved.has_connections() and result["ok"]:
			_has(key, result["version"])
		saved.emit({"game": kept["game"], "name": kept["name"]}, result)
		return result
	return null


## Sends after all earlier ones of the key.
func _flush(key: String) -> Later:
	var turn := Later.new()
	var before: Later = _turns.get(key)
	_turns[key] = turn
	_take_turn(key, turn, before)
	return turn


func _take_turn(key: String, turn: Later, before: Later) -> void:
	if before:
		await before.result()
	turn.settle(await _send(key))


## Sends all saves again after a while.
func _retry(error: Dictionary) -> void:
	if _is_waiting:
		return
	_is_waiting = true
	var wait := Request.backoff(_tries, error, 60_000)
	_tries += 1
	await Abort.sleep(_client._clock, wait, [_client._closed])
	_is_waiting = false
	if not _client._closed.is_aborted:
		wake()


static func _saved(reply: Dictionary) -> Dictionary:
	var of := reply.duplicate()
	for field: String in ["ok", "other", "requestId"]:
		of.erase(field)
	return of


## Whether the same save may pass later: no answer, a service that is away, or a player who has to sign in.
static func _may_pass(result: Dictionary) -> bool:
	return not result.get("status") or result["status"] == 401 or Request.is_temporary(result["error"])


## Tells texts apart, and tells nobody an installId.
static func _mark(text: String) -> String:
	return text.sha256_text().left(20)


## The mark of data. Godot may read a number as its neighbour, so the data is marked as it is after it was read.
static func _mark_of(text: String) -> String:
	return _mark(Json.compact(_data_of(text)))
