## The localStorage of a browser. It keeps a text at once, and Godot's [code]user://[/code] in a browser only after a while.
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
	for index: int in int(_storage.get("length")):
		found.append(_storage.call("key", index))
	return found
