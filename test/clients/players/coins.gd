## A player who earns a coin so many times, and goes on where the process before was killed: URL FOLDER TIMES.
extends SceneTree

const Client = preload("res://addons/coinop/client.gd")

var client := Client.new()


func _initialize() -> void:
	# A frame takes 7 ms by default, and a credit some frames.
	OS.low_processor_usage_mode_sleep_usec = 500
	var args := OS.get_cmdline_user_args()
	var store := Client.Kept.Files.new(args[1].path_join("store"))
	var begun := args[1].path_join("begun")
	root.add_child(client)
	client.start(args[0], {"store": store, "timeout_ms": 600_000})
	await process_frame
	var number := FileAccess.get_file_as_string(begun).to_int() if FileAccess.file_exists(begun) else 0
	while number < args[2].to_int():
		var done := [false]
		var earn := func() -> void:
			await client.coins.credit(1, {"key": "earned-%d" % number})
			done[0] = true
		earn.call()
		# The client has stored the operation by now: whatever happens, it will be done, and nobody calls it again.
		number += 1
		var file := FileAccess.open(begun + ".new", FileAccess.WRITE)
		file.store_string(str(number))
		file.close()
		DirAccess.rename_absolute(begun + ".new", begun)
		while not done[0]:
			await process_frame
	# What the processes before have left.
	while (store.keys() as Array).any(func(key: String) -> bool: return key.contains(":op:")):
		await process_frame
	print(client.who()["installId"])
	quit()
