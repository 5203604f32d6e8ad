## JSON as the service reads and writes it. Godot reads every number as a float, and writes some texts and numbers wrongly.
extends RefCounted

## The deepest nesting that is written. The service refuses less.
const MOST_DEPTH := 200
## The largest number up to which a float has every whole number.
const MOST_WHOLE := float(1 << 53)
## The fields whose values are the game's own: their numbers stay floats, as Godot reads them.
const OF_GAME: Array[String] = ["state", "data", "private"]

static var _control := RegEx.create_from_string("[\\x01-\\x1f]")


## The value as JSON, or an empty text if it has no JSON, such as a vector or NAN.
static func compact(value: Variant, depth := 0) -> String:
	if depth > MOST_DEPTH:
		return ""
	match typeof(value):
		TYPE_NIL:
			return "null"
		TYPE_BOOL, TYPE_INT:
			return str(value)
		TYPE_FLOAT:
			return _number(value)
		TYPE_STRING, TYPE_STRING_NAME:
			return _quoted(str(value))
		TYPE_DICTIONARY:
			return _object(value, depth)
	if typeof(value) < TYPE_ARRAY:
		return ""
	var parts: PackedStringArray = []
	for part: Variant in Array(value):
		parts.append(compact(part, depth + 1))
	return "[%s]" % ",".join(parts) if not parts.has("") else ""


static func _object(members: Dictionary, depth: int) -> String:
	var parts: PackedStringArray = []
	for key: Variant in members:
		var text := compact(members[key], depth + 1)
		if text == "" or typeof(key) not in [TYPE_STRING, TYPE_STRING_NAME, TYPE_INT]:
			return ""
		parts.append(_quoted(str(key)) + ":" + text)
	return "{%s}" % ",".join(parts)


static func _number(number: float) -> String:
	if not is_finite(number):
		return ""
	return str(int(number)) if number == floorf(number) and absf(number) <= MOST_WHOLE else String.num_scientific(number)


static func _quoted(text: String) -> String:
	var escaped := text.replace("\\", "\\\\").replace("\"", "\\\"")
	if _control.search(escaped):
		for code: int in range(1, 32):
			escaped = escaped.replace(char(code), "\\u%04x" % code)
	return "\"%s\"" % escaped


## The value of a text, or null if it is no JSON.
static func parse(text: String) -> Variant:
	var json := JSON.new()
	return whole(json.data) if json.parse(text) == OK else null


## The value with whole numbers as ints, except in what is the game's own. It changes the value itself.
static func whole(value: Variant, depth := 0) -> Variant:
	if depth > MOST_DEPTH:
		return value
	match typeof(value):
		TYPE_FLOAT:
			var number: float = value
			return int(number) if number == floorf(number) and absf(number) <= MOST_WHOLE else value
		TYPE_ARRAY:
			var list: Array = value
			for index: int in list.size():
				list[index] = whole(list[index], depth + 1)
		TYPE_DICTIONARY:
			var members: Dictionary = value
			for key: String in members:
				if key not in OF_GAME:
					members[key] = whole(members[key], depth + 1)
	return value


## The value as a part of an address.
static func component(value: Variant) -> String:
	return (str(value) if value is String or value is StringName else compact(value)).uri_encode()
