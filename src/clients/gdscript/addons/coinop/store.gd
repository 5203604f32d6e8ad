## Where a client keeps the install, the session and what is not finished. It cannot fail: what the given store does not accept is kept in
## memory. A store has [code]read(key)[/code], [code]write(key, text)[/code], [code]erase(key)[/code] and [code]keys()[/code].
extends RefCounted

const Browser = preload("platform/browser_store.gd")
const Files = preload("platform/file_store.gd")
const Json = preload("json.gd")

## Keys that could not be read. They are not written either: that could destroy what the store has.
var unread := {}
var _store: RefCounted = null
var _warn := Callable()
var _has_warned := false
## What the store has not accepted. Null: it has not removed the key yet.
var _memory := {}


func _init(store: RefCounted, warn: Callable) -> void:
	_store = store
	_warn = warn
	_has_warned = store == null


func _failed(problem: int) -> void:
	if not _has_warned:
		_has_warned = true
		_warn.call("coinop keeps data in memory: %s" % error_string(problem))


func read(key: String) -> Variant:
	if _memory.has(key):
		return _memory[key]
	var found: Variant = _store.call("read", key) if _store else null
	if found is int:
		unread[key] = true
		_failed(found)
		return null
	return found


## Stores a text. Null removes the key.
func put(key: String, text: Variant = null) -> void:
	_memory[key] = text
	if unread.has(key) or (_store == null and text != null):
		return
	var problem: int = OK
	if _store:
		problem = _store.call("erase", key) if text == null else _store.call("write", key, text)
	if problem == OK:
		_memory.erase(key)
	else:
		_failed(problem)


func keys(prefix: String) -> Array[String]:
	var kept: Variant = _store.call("keys") if _store else []
	if kept is int:
		_failed(kept)
		kept = []
	var found: Array[String] = []
	for key: String in _memory.keys() + Array(kept):
		if key.begins_with(prefix) and not found.has(key):
			found.append(key)
	return found


## The JSON under the key, or null if there is none.
func load_json(key: String) -> Variant:
	var text: Variant = read(key)
	return Json.parse(text) if text is String else null


## A random text, by default of 124 bits.
static func random_text(size := 24) -> String:
	var text := ""
	var crypto := Crypto.new()
	while text.length() < size:
		for byte: int in crypto.generate_random_bytes(size):
			# So that each of the 36 is as likely as another.
			if byte < 252 and text.length() < size:
				text += "0123456789abcdefghijklmnopqrstuvwxyz"[byte % 36]
	return text


## What the platform has: a browser's storage, or files in a folder of `user://`.
static func of_platform(name: String) -> RefCounted:
	var storage: Object = null
	if OS.has_feature("web"):
		storage = Engine.get_singleton("JavaScriptBridge").call("get_interface", "localStorage")
	return Browser.new(storage) if storage else Files.new("user://".path_join(name))
