## Runs the samples, and ends with 1 if they cannot be compiled. A scene with such a script would run for ever.
extends Node


func _ready() -> void:
	var samples: GDScript = load("res://samples.gd")
	if samples and samples.can_instantiate():
		add_child(samples.new() as Node)
	else:
		get_tree().quit(1)
