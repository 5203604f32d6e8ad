## The clocks of the device, in milliseconds. A test gives its own, so that a wait of a day takes no time.
extends RefCounted

var _alarms: Array[Alarm] = []


class Alarm:
	var due := 0.0
	var run := Callable()
	var _alarms: Array[Alarm] = []

	func cancel() -> void:
		_alarms.erase(self)


## A time that only rises, and that no change of the wall clock moves.
func now() -> float:
	return Time.get_ticks_usec() / 1000.0


## Milliseconds since 1970, as the device believes.
func wall() -> float:
	return Time.get_unix_time_from_system() * 1000.0


func later(ms: float, run: Callable) -> Alarm:
	var alarm := Alarm.new()
	alarm.due = now() + maxf(0.0, ms)
	alarm.run = run
	alarm._alarms = _alarms
	_alarms.append(alarm)
	return alarm


## Runs what is due. The client calls this in each frame.
func fire() -> void:
	var time := now()
	for alarm: Alarm in _alarms.duplicate():
		# One that ran before may have cancelled it.
		if alarm.due <= time and _alarms.has(alarm):
			_alarms.erase(alarm)
			alarm.run.call()
