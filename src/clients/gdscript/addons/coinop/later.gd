## A result that comes later, once.
extends RefCounted

signal came(value: Variant)

var is_done := false
var value: Variant = null


func settle(result: Variant) -> void:
	if not is_done:
		is_done = true
		value = result
		came.emit(result)


func result() -> Variant:
	if not is_done:
		await came
	return value
