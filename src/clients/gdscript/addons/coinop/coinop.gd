## The autoload [code]Coinop[/code]: a client that starts with the project setting [code]coinop/url[/code], where there is one.
extends "client.gd"


func _enter_tree() -> void:
	var url: String = ProjectSettings.get_setting("coinop/url", "")
	if url:
		start(url)
