## A bot that makes each second move of a room: URL CODE INSTALL FOLDER MOVES PARITY.
extends SceneTree

const Client = preload("res://addons/coinop/client.gd")

var client := Client.new()
var room := Client.Room.new()
var moves := 0
var parity := 0
var last := -1


func _initialize() -> void:
	var args := OS.get_cmdline_user_args()
	moves = args[4].to_int()
	parity = args[5].to_int()
	root.add_child(client)
	root.add_child(room)
	client.start(args[0], {"install_id": args[2], "store": Client.Kept.Files.new(args[3])})
	while not (await client.rooms.join(args[1], {"name": "Bot", "timeout_ms": 60_000}))["ok"]:
		await create_timer(1).timeout
	room.changed.connect(move)
	room.refused.connect(func(error: Dictionary, _act: Dictionary) -> void: print("REFUSED ", error["code"]))
	room.play(args[1], client)


func move() -> void:
	var number := int(room.state["move"])
	if number < last:
		print("BACK ", number, " ", last)
	last = number
	if room.unanswered:
		return
	if number >= moves:
		quit()
	elif number % 2 == parity and room.me and room.players.size() == 2:
		room.set_state({"move": number + 1}, room.room["stateSeq"])
