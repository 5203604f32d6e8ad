## The driver of the client in GDScript. ../README.md says what each command means. It runs in the project of src/clients/gdscript.
extends SceneTree

const Client = preload("res://addons/coinop/client.gd")
const Clock = preload("res://addons/coinop/clock.gd")
const Json = preload("res://addons/coinop/json.gd")
const Transport = preload("res://addons/coinop/platform/transport.gd")

var driver: Driver = Driver.new()
var thread := Thread.new()
var mutex := Mutex.new()
var lines: PackedStringArray = []
var is_over := false
var idle_frames := 0


func _initialize() -> void:
	driver.tree = self
	# Only the driver has a thread: the client must go on while the next line is awaited.
	thread.start(read)


func read() -> void:
	while true:
		var line := OS.read_string_from_stdin(1 << 24)
		mutex.lock()
		if line == "":
			is_over = true
		else:
			lines.append(line)
		mutex.unlock()
		if line == "":
			return


func _process(_delta: float) -> bool:
	mutex.lock()
	var commands := lines.duplicate()
	lines.clear()
	var ends := is_over
	mutex.unlock()
	# A frame follows the one before at once while there is work, and later without.
	idle_frames = 0 if commands else idle_frames + 1
	OS.low_processor_usage_mode_sleep_usec = 100 if idle_frames < 50 else 4000
	if driver.client:
		driver.client.poll()
	for line in commands:
		driver.take(Json.whole(JSON.parse_string(line)))
	return ends


func _finalize() -> void:
	thread.wait_to_finish()


static func write(line: Dictionary) -> void:
	printraw(Json.compact(line) + "\n")


static func told(event: String, of: String, value: Variant) -> void:
	write({"event": event, "of": of, "value": value} if of else {"event": event, "value": value})


class VirtualClock:
	extends Clock
	var time := 0.0
	var offset := 0.0

	func now() -> float:
		return time

	func wall() -> float:
		return offset + time

	# In whole milliseconds, because Godot may read a decimal as a neighbour of it: the runner could never say when this is due.
	func later(ms: float, run: Callable) -> Alarm:
		var alarm := super(ms, run)
		alarm.due = ceilf(alarm.due)
		return alarm

	func fire() -> void:
		pass

	func advance(to: float) -> void:
		time = to
		super.fire()

	func due() -> Variant:
		var next: Variant = null
		for alarm in _alarms:
			next = alarm.due if next == null else minf(next, alarm.due)
		return next


class Store:
	extends RefCounted
	var contents := {}
	var storage := ""

	func read(key: String) -> Variant:
		return FAILED if storage == "forbidden" else contents.get(key)

	func write(key: String, text: String) -> Error:
		if storage in ["forbidden", "full"]:
			return FAILED
		contents[key] = text
		printraw(Json.compact({"stored": [key, text]}) + "\n")
		return OK

	func erase(key: String) -> Error:
		if storage == "forbidden":
			return FAILED
		contents.erase(key)
		printraw(Json.compact({"stored": [key, null]}) + "\n")
		return OK

	func keys() -> Variant:
		return FAILED if storage == "forbidden" else contents.keys()


class Counted:
	extends Transport
	var counts := {"requests": 0, "ended": 0, "sockets": 0, "socketsEnded": 0, "socketsOpen": 0, "framesToClient": 0, "framesFromClient": 0}

	func request(method: String, url: String, headers: Dictionary, body: Variant, abort: Abort) -> Dictionary:
		counts["requests"] += 1
		var answer := await super(method, url, headers, body, abort)
		counts["ended"] += 1
		return answer

	func open_socket(url: String) -> Socket:
		var socket := CountedSocket.new()
		socket.counts = counts
		counts["sockets"] += 1
		socket.opening.came.connect(socket.count_open)
		return opened(socket, url)


class CountedSocket:
	extends Transport.Socket
	var counts := {}
	var own := {"framesToClient": 0, "framesFromClient": 0, "socketsOpen": 0}
	var is_live := true

	func count(name: String) -> void:
		if is_live:
			own[name] += 1
			counts[name] += 1

	func count_open(is_open: bool) -> void:
		if is_open:
			count("socketsOpen")

	func send(text: String) -> void:
		count("framesFromClient")
		super(text)

	func _take(packet: PackedByteArray, is_text: bool) -> void:
		count("framesToClient")
		super(packet, is_text)

	func _end(is_whole := true) -> void:
		if is_live:
			is_live = false
			counts["socketsEnded"] += 1
			for name: String in own:
				counts[name] -= own[name]
		super(is_whole)


class Driver:
	extends RefCounted
	var tree: SceneTree = null
	var client: Client = null
	var clock: VirtualClock = null
	var store: Store = null
	var transport: Counted = null
	var named := {}
	var aborts := {}

	func take(command: Dictionary) -> void:
		var value: Variant = await call("do_" + snake(command["do"]), command)
		write_answer(command["id"], value)

	func write_answer(id: int, value: Variant) -> void:
		printraw(Json.compact({"id": id, "value": value}) + "\n")

	static func snake(name: String) -> String:
		return name.to_snake_case()

	func tell(event: String, of := "") -> Callable:
		return func(value: Variant) -> void: printraw(Json.compact({"event": event, "of": of, "value": value}) + "\n")

	func tell_two(event: String) -> Callable:
		return func(one: Variant, two: Variant) -> void: printraw(Json.compact({"event": event, "value": [one, two]}) + "\n")

	func do_start(command: Dictionary) -> void:
		if client:
			client.free()
		clock = VirtualClock.new()
		clock.time = command["now"]
		clock.offset = command["wallMs"] - command["now"]
		store = Store.new()
		store.contents = command["store"]
		store.storage = command["storage"]
		transport = Counted.new()
		named = {}
		aborts = {}
		client = Client.new()
		client.operation_done.connect(tell_two("operation"))
		client.purchase_done.connect(tell_two("purchase"))
		client.saved.connect(tell_two("saved"))
		client.warned.connect(func(_message: String) -> void: tell("warning").call(null))
		var options := {"clock": clock, "store": store, "transport": transport, "device": "Test"}
		for name: String in command["options"]:
			options[snake(name)] = command["options"][name]
		if options.has("merged"):
			var kept: Variant = options["merged"]
			client.on_conflict = func(mine: Dictionary, theirs: Dictionary, of: Dictionary) -> Variant:
				printraw(Json.compact({"event": "conflict", "value": [mine, theirs, of]}) + "\n")
				return kept
		client.start(command["url"], options)

	func do_settle(_command: Dictionary) -> Dictionary:
		for _turn in 4:
			await tree.process_frame
		return transport.counts.merged({"due": clock.due()})

	func do_advance(command: Dictionary) -> void:
		clock.advance(command["to"])

	func do_clock(command: Dictionary) -> void:
		clock.offset += command["ms"]

	func do_storage(command: Dictionary) -> void:
		store.storage = command["storage"]

	func do_contents(command: Dictionary) -> void:
		store.contents = command["store"]

	func do_call(command: Dictionary) -> Dictionary:
		var input: Dictionary = command["input"]
		var more := {"abort": Client.Abort.new()}
		aborts[command["as"]] = more["abort"]
		if command.get("timeoutMs") != null:
			more["timeout_ms"] = command["timeoutMs"]
		var name: String = command["call"]
		if name == "rooms.match":
			var result := await client.quick_match(input, more)
			if not result["ok"]:
				return result
			follow(command["as"], result["room"])
			return {"ok": true, "created": result["created"], "code": result["room"].code}
		var feature: Object = client.get(snake(name.get_slice(".", 0)))
		var method := snake(name.get_slice(".", 1))
		var given := []
		var left := input.duplicate()
		for each: Dictionary in feature.get_method_list():
			if each["name"] == method:
				for argument: Dictionary in each["args"]:
					var field: String = str(argument["name"]).trim_suffix("_").to_camel_case()
					if argument["name"] == "more":
						given.append(left.merged(more))
					else:
						given.append(input[field])
						left.erase(field)
				break
		return await feature.callv(method, given)

	func do_abort(command: Dictionary) -> void:
		aborts[command["of"]].abort()

	func do_wake(_command: Dictionary) -> void:
		client.wake()

	func do_discard_held(_command: Dictionary) -> void:
		client.discard_held()

	func do_close(_command: Dictionary) -> void:
		client.close()

	func do_end(_command: Dictionary) -> void:
		client.close()

	func do_who(_command: Dictionary) -> Dictionary:
		return client.who()

	func do_watch(command: Dictionary) -> void:
		var of: Dictionary = command["of"]
		var name: String = command["as"]
		var watch: RefCounted = null
		match command["what"]:
			"room":
				watch = client.watch_room(of["code"], of.get("hello", true))
			"pairing":
				watch = client.watch_pairing(of)
			"account":
				watch = client.watch_account()
			"board":
				watch = client.watch_board(of["game"])
			"lobby":
				watch = client.watch_lobby(of)
		named[name] = watch
		if command["what"] == "board":
			watch.news.connect(func(board: Dictionary) -> void: tell("news", name).call([board["top"], board["season"]]))
		else:
			watch.news.connect(tell("news", name))
		watch.state_changed.connect(tell("state", name))
		watch.you.connect(tell("you", name))
		watch.failed.connect(tell("error", name))

	func do_play(command: Dictionary) -> void:
		follow(command["as"], client.play_room(command["code"]))

	func follow(name: String, room: Client.Room) -> void:
		named[name] = room
		room.message.connect(tell("message", name))
		room.missed.connect(tell("missed", name))
		room.refused.connect(func(error: Dictionary, act: Dictionary) -> void: tell("refused", name).call([error, act]))
		room.failed.connect(tell("error", name))
		room.connection_changed.connect(tell("connection", name))

	func do_act(command: Dictionary) -> Dictionary:
		var args: Array = command["args"]
		var act: String = command["act"]
		var method: String = {"set": "set_data", "merge": "merge_data"}.get(act, snake(act))
		if method in ["set_state", "merge_state"] and args.size() > 1:
			args = [args[0], args[1].get("ifStateSeq", -1)]
		return await named[command["in"]].callv(method, args)

	func do_leave(command: Dictionary) -> void:
		named[command["of"]].close()

	func do_shown(command: Dictionary) -> Dictionary:
		var room: Client.Room = named[command["of"]]
		return {"state": room.state, "players": room.players, "me": room.me if room.me else null, "unanswered": room.unanswered}
