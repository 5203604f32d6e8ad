## Tries the stores of the client in GDScript, and its JSON: FOLDER. It prints what is wrong, and at the end the number of checks.
extends SceneTree

const Json = preload("res://addons/coinop/json.gd")
const Store = preload("res://addons/coinop/store.gd")

var checks := 0


func _initialize() -> void:
	var folder := OS.get_cmdline_user_args()[0]
	try_store("files", Store.Files.new(folder))
	try_store("browser", Store.Browser.new(LocalStorage.new()))
	var files := Store.Files.new(folder)
	files.write("a:b", "kept")
	# As Windows leaves it when the game is killed between removing the old file and naming the new one.
	DirAccess.rename_absolute(folder.path_join("a:b".sha256_text()), folder.path_join("a:b".sha256_text() + ".new"))
	check("a file with its new name only is read", files.read("a:b"), "kept")
	check("a file with its new name only is listed", files.keys(), ["a:b"])
	var file := FileAccess.open(folder.path_join("a:b".sha256_text()), FileAccess.WRITE)
	file.store_string("[\"a:b\",\"ke")
	file.close()
	check("a damaged file does not hide the new one", files.read("a:b"), "kept")
	var blocked := Store.Files.new("/dev/null/folder")
	check("a folder that cannot be made is an error", blocked.write("a", "b") != OK, true)
	var full := LocalStorage.new()
	full.most = 0
	check("a full storage of a browser is an error", Store.Browser.new(full).write("a", "b") != OK, true)
	for value: Variant in [null, true, 5, -0.5, 9_007_199_254_740_991, "a\u0001\"\\\n\u000b🎲", [1, [2.5]], {"a": {"b": []}}]:
		check("%s is written and read" % [value], Json.parse(Json.compact(value)), value)
	check("a float of a whole number is written without a point", Json.compact([5.0, float((1 << 53) - 1)]), "[5,9007199254740991]")
	check("control characters are escaped", Json.compact("\u0001\u000b"), "\"\\u0001\\u000b\"")
	for value: Variant in [NAN, INF, Vector2.ZERO, [NAN], {"a": Color.RED}, {1.5: 2}, self, deep(1000)]:
		check("%s is no JSON" % type_string(typeof(value)), Json.compact(value), "")
	check("deep JSON is read without an end of the stack", typeof(Json.parse("[".repeat(900) + "]".repeat(900))), TYPE_ARRAY)
	print(checks)
	quit()


func deep(levels: int) -> Array:
	var value := []
	for _level in levels:
		value = [value]
	return value


func try_store(name: String, store: RefCounted) -> void:
	check("%s: nothing is there" % name, store.read("coinop:me"), null)
	check("%s: no keys" % name, Array(store.keys()), [])
	for key: String in ["coinop:me", "coinop:ME", "coinop:save:g/../ü 🎲"]:
		check("%s: %s is written" % [name, key], store.write(key, key + "\n\"1\""), OK)
		check("%s: %s is written over" % [name, key], store.write(key, key + "\n\"2\""), OK)
	check("%s: a text is read" % name, store.read("coinop:ME"), "coinop:ME\n\"2\"")
	var keys := Array(store.keys())
	keys.sort()
	check("%s: the keys" % name, keys, ["coinop:ME", "coinop:me", "coinop:save:g/../ü 🎲"])
	for key: String in keys:
		check("%s: %s is erased" % [name, key], store.erase(key), OK)
	check("%s: nothing is left" % name, Array(store.keys()), [])


func check(what: String, found: Variant, expected: Variant) -> void:
	checks += 1
	if typeof(found) != typeof(expected) or found != expected:
		print("WRONG: %s: %s, expected %s" % [what, found, expected])


## A stand-in of the localStorage of a browser, as JavaScriptBridge gives it.
class LocalStorage:
	var most := 100
	var length: int:
		get:
			return _texts.size()
	var _texts := {}

	func getItem(name: String) -> Variant:
		return _texts.get(name)

	func setItem(name: String, text: String) -> void:
		if _texts.size() < most:
			_texts[name] = text

	func removeItem(name: String) -> void:
		_texts.erase(name)

	func key(index: int) -> Variant:
		return _texts.keys()[index]
