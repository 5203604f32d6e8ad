## Runs a program of the README of the client in GDScript, as a scene: SCRIPT [URL CODE]. With a code it joins the room of that code, presses
## in each turn the button of the cell whose number is typed, and prints each text of the game.
extends SceneTree

var game: Node = null
var label: Label = null
var last := ""


func _initialize() -> void:
	await process_frame
	var args := OS.get_cmdline_user_args()
	game = load(args[0]).new()
	root.add_child(game)
	var coinop := root.get_node("Coinop")
	if args.size() < 3:
		coinop.operation_done.connect(func(_operation: Dictionary, _result: Dictionary) -> void: quit.call_deferred())
		return
	label = of_type("Label")[0]
	of_type("LineEdit")[0].text = args[2]
	of_type("Button").filter(func(button: Button) -> bool: return button.text == "Join")[0].pressed.emit()


func of_type(name: String) -> Array:
	return game.get_children().filter(func(child: Node) -> bool: return child.is_class(name))


func press(cell: int) -> void:
	var button: Button = of_type("GridContainer")[0].get_child(cell)
	if button.disabled:
		print("The button is disabled")
	else:
		button.pressed.emit()


func _process(_delta: float) -> bool:
	if label == null or label.text == last:
		return false
	last = label.text
	print(last)
	if last == "Your turn":
		# The game stands still until then: the proof types at once.
		press(OS.read_string_from_stdin(100).to_int())
	return last.contains("has won") or last.contains("draw")
