## Runs the samples of the page of the client in GDScript, each as a reader would. pages.ts adds the samples, and the list of them as `_samples`.
##
## The names of the reader's own game are functions that note their calls. A sample has to end without an error, and every function of the game
## that it mentions has to be called.
extends Node

const PATIENCE_MS := 20_000

var code := ""
var token := ""
var _called := {}


func _ready() -> void:
	var host := CoinopClient.new()
	add_child(host)
	host.start(ProjectSettings.get_setting("coinop/url"), {store = null})
	for sample: Array in _samples():
		_called.clear()
		# One sample deletes the account.
		code = (await host.rooms.create({name = "Host", public = true, game = "duel", tags = {mode = "ranked"}})).room.code
		token = (await host.pairing.open()).token
		await Coinop.coins.credit(20)
		await Coinop.rooms.join(code, {name = "Ada"})
		await Coinop.highscores.submit("pebble-drop", 5, "Ada")
		await (sample[1] as Callable).call()
		var expected: Array = sample[2]
		var until := Time.get_ticks_msec() + PATIENCE_MS
		while not _called.has_all(expected) and Time.get_ticks_msec() < until:
			await get_tree().process_frame
		if not _called.has_all(expected):
			print("%s: never called: one of %s" % [sample[0], ", ".join(PackedStringArray(expected))])
	print("All samples have run")
	get_tree().quit()


func draw_room(_players: Array, _state: Dictionary) -> void:
	_called.draw_room = true


func draw_board(_top: Array) -> void:
	_called.draw_board = true


func show_balance(_coins: int) -> void:
	_called.show_balance = true


func show_problem(_error: Dictionary) -> void:
	_called.show_problem = true


func undo(_type: String, _coins: int) -> void:
	_called.undo = true


func show_list(_rooms: Array) -> void:
	_called.show_list = true


func show_connection(_status: String) -> void:
	_called.show_connection = true


func show_coins(_coins: int) -> void:
	_called.show_coins = true


func show_ads(_shown: bool) -> void:
	_called.show_ads = true


func show_seat(_player_id: String) -> void:
	_called.show_seat = true


func show_code(_url: String, _match_code: String) -> void:
	_called.show_code = true


func ask_player(_question: String) -> bool:
	return true
