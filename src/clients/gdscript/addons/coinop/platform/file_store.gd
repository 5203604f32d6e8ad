## A folder with a file for each key. A write is whole or not at all. An [enum Error] in place of a text or a list says what failed.
extends RefCounted

const Json = preload("../json.gd")

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
	for name: String in DirAccess.get_files_at(_folder):
		var kept := _kept(_folder.path_join(name))
		if kept and not found.has(kept[0]):
			found.append(kept[0])
	return found
