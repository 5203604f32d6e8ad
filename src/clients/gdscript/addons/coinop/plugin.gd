## Adds the autoload `Coinop` and the project setting `coinop/url`.
@tool
extends EditorPlugin


func _enable_plugin() -> void:
	add_autoload_singleton("Coinop", "res://addons/coinop/coinop.gd")


func _disable_plugin() -> void:
	remove_autoload_singleton("Coinop")


func _enter_tree() -> void:
	if not ProjectSettings.has_setting("coinop/url"):
		ProjectSettings.set_setting("coinop/url", "")
	ProjectSettings.set_initial_value("coinop/url", "")
	ProjectSettings.set_as_basic("coinop/url", true)
