## Where a client keeps the install, the session and what is not finished. It cannot fail: what the given store does not accept is kept in
## memory. A store has [code]read(key)[/code], [code]write(key, text)[/code], [code]erase(key)[/code] and [code]keys()[/code].
extends RefCounted

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
		for byte in crypto.generate_random_bytes(size):
			# So that each of the 36 is as likely as another.
			if byte < 252 and text.length() < size:
				text += "0123456789abcdefghijklmnopqrstuvwxyz"[byte % 36]
	return text


## A folder with a file for each key. A write is whole or not at all. An [enum Error] in place of a text or a list says what failed.
class Files:
	extends RefCounted
	var _folder := ""

	func _init(folder: String) -> void:
		_folder = folder

	# Names by hash, because some file systems take no long ones, and take `Slot` and `slot` for the same.
	func _path(key: String) -> String:
		return _folder.path_join(key.sha256_text())

	func _kept(path: String) -> Array:
		if not FileAccess.file_exists(path):
			return []
		var kept: Variant = Json.parse(FileAccess.get_file_as_string(path))
		return kept if kept is Array and (kept as Array).size() == 2 else []

	func read(key: String) -> Variant:
		# Windows removes the old file before it names the new one so: a kill between the two leaves only the new one.
		for path: String in [_path(key), _path(key) + ".new"]:
			var kept := _kept(path)
			if kept and kept[0] == key:
				return kept[1]
		return null

	func write(key: String, text: String) -> Error:
		DirAccess.make_dir_recursive_absolute(_folder)
		var path := _path(key) + ".new"
		var file := FileAccess.open(path, FileAccess.WRITE)
		if file == null:
			return FileAccess.get_open_error()
		file.store_string(Json.compact([key, text]))
		file.flush()
		var problem := file.get_error()
		file.close()
		if problem != OK:
			return problem
		# The folder holds secrets of the player.
		FileAccess.set_unix_permissions(path, FileAccess.UNIX_READ_OWNER | FileAccess.UNIX_WRITE_OWNER)
		return DirAccess.rename_absolute(path, _path(key))

	func erase(key: String) -> Error:
		for path: String in [_path(key), _path(key) + ".new"]:
			if FileAccess.file_exists(path):
				var problem := DirAccess.remove_absolute(path)
				if problem != OK:
					return problem
		return OK

	func keys() -> Variant:
		if not DirAccess.dir_exists_absolute(_folder):
			return []
		var found: Array[String] = []
		for name in DirAccess.get_files_at(_folder):
			var kept := _kept(_folder.path_join(name))
			if kept and not found.has(kept[0]):
				found.append(kept[0])
		return found


## The localStorage of a browser. It keeps a text at once, and Godot's [code]user://[/code] in a browser only after a while.
class Browser:
	extends RefCounted
	var _storage: Object = null

	func _init(storage: Object) -> void:
		_storage = storage

	func read(key: String) -> Variant:
		return _storage.call("getItem", key)

	func write(key: String, text: String) -> Error:
		_storage.call("setItem", key, text)
		# A full storage throws, and Godot does not pass that on.
		return OK if _storage.call("getItem", key) == text else ERR_OUT_OF_MEMORY

	func erase(key: String) -> Error:
		_storage.call("removeItem", key)
		return OK

	func keys() -> Variant:
		var found: Array[String] = []
		for index in int(_storage.get("length")):
			found.append(_storage.call("key", index))
		return found


## What the platform has: a browser's storage, or files in a folder of `user://`.
static func of_platform(name: String) -> RefCounted:
	var storage: Object = null
	if OS.has_feature("web"):
		storage = Engine.get_singleton("JavaScriptBridge").call("get_interface", "localStorage")
	return Browser.new(storage) if storage else Files.new("user://".path_join(name))
