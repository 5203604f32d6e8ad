## What changes a room: JSON patches of the service (RFC 6902), and merge patches of the game (RFC 7396). No argument is changed.
extends RefCounted

const Json = preload("json.gd")

## What there is in place of a value that cannot be made.
static var none := RefCounted.new()


static func is_none(value: Variant) -> bool:
	return is_same(value, none)


## The room after a patch, or none if the patch does not start from this room or does not fit it.
static func patched(room: Variant, from: Variant, operations: Array) -> Variant:
	if not room is Dictionary or from != (room as Dictionary).get("seq"):
		return none
	for each: Variant in operations:
		if not each is Dictionary or not each.get("path") is String or is_none(room):
			return none
		var path := (each["path"] as String).split("/").slice(1)
		var value: Variant = each.get("value")
		# The numbers of a game's own values stay floats.
		var is_of_game := Json.OF_GAME.any(func(name: String) -> bool: return path.has(name))
		room = _changed(room, path, str(each.get("op")), value if is_of_game else Json.whole(value))
	return room


static func _changed(value: Variant, path: PackedStringArray, op: String, given: Variant) -> Variant:
	if path.is_empty():
		return none
	var name := path[0].replace("~1", "/").replace("~0", "~")
	var rest := path.slice(1)
	var is_new := op == "add" and not rest
	var is_removed := op == "remove" and not rest
	if value is Array:
		var list: Array = (value as Array).duplicate()
		var index := name.to_int()
		if not name.is_valid_int() or index < 0 or index >= list.size() + int(is_new):
			return none
		if is_removed:
			list.remove_at(index)
		elif is_new:
			list.insert(index, given)
		else:
			list[index] = _changed(list[index], rest, op, given) if rest else given
			if is_none(list[index]):
				return none
		return list
	if not value is Dictionary or (not is_new and not (value as Dictionary).has(name)):
		return none
	var members: Dictionary = (value as Dictionary).duplicate()
	if is_removed:
		members.erase(name)
		return members
	members[name] = _changed(members[name], rest, op, given) if rest else given
	return none if is_none(members[name]) else members


## The value after a merge patch, deeply, as the service does it.
static func merged(target: Variant, patch: Variant) -> Variant:
	if not patch is Dictionary:
		return patch
	var members: Dictionary = (target as Dictionary).duplicate() if target is Dictionary else {}
	for name: String in patch:
		if patch[name] == null:
			members.erase(name)
		else:
			members[name] = merged(members.get(name), patch[name])
	return members


## One merge patch that has the effect of two. None: there is none. `{a: null}` and then `{a: {b: 1}}` replace `a` whole.
static func composed(earlier: Variant, later: Variant) -> Variant:
	if not later is Dictionary:
		return later
	if not earlier is Dictionary:
		return none
	var members: Dictionary = (earlier as Dictionary).duplicate()
	for name: String in later:
		members[name] = composed(members[name], later[name]) if members.has(name) else later[name]
		if is_none(members[name]):
			return none
	return members


## The fields of one act that has the effect of two, or null. `data` or `state` (`whole`) replaces the value, `merge` merges into it.
static func combined(earlier: Dictionary, later: Dictionary, whole: String) -> Variant:
	if later.has(whole):
		return later
	if earlier.has(whole):
		return {whole: merged(earlier[whole], later.get("merge"))}
	var both: Variant = composed(earlier.get("merge"), later.get("merge"))
	return null if is_none(both) else {"merge": both}


## The value after an act with these fields.
static func applied(value: Variant, fields: Dictionary, whole: String) -> Variant:
	return fields[whole] if fields.has(whole) else merged(value, fields.get("merge"))
