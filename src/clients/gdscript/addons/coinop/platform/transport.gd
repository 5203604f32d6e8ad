## Requests and WebSockets, without a thread and without blocking: [method poll] carries them on in each frame. A test gives its own.
##
## Each request has a connection of its own: a request on a connection that the other side has just closed would be lost, and nobody could
## say whether it was carried out. Redirects are not followed: another server would get the installId.
extends RefCounted

const Abort = preload("../abort.gd")
const Later = preload("../later.gd")

## The longest answer that is read. The service's own are far shorter.
const MOST_BODY_BYTES := 16 * 1024 * 1024
const MOST_MESSAGE_BYTES := 1024 * 1024
const METHODS := {"GET": HTTPClient.METHOD_GET, "POST": HTTPClient.METHOD_POST}

var _exchanges: Array[Exchange] = []
var _sockets: Array[Socket] = []


## Sends a request. The result has `status`, `headers` and `text`, or what went wrong on the way as `problem`. An abort closes the connection.
func request(method: String, url: String, headers: Dictionary, body: Variant, abort: Abort) -> Dictionary:
	var exchange := Exchange.new(method, url, headers, body)
	_exchanges.append(exchange)
	var answer: Variant = await abort.result_of(exchange.done)
	exchange.http.close()
	_exchanges.erase(exchange)
	return answer if answer is Dictionary else {"problem": "aborted"}


func open_socket(url: String) -> Socket:
	return opened(Socket.new(), url)


func opened(socket: Socket, url: String) -> Socket:
	_sockets.append(socket)
	socket.open(url)
	return socket


func poll() -> void:
	for exchange: Exchange in _exchanges.duplicate():
		exchange.poll()
	for socket: Socket in _sockets.duplicate():
		socket.poll()
		if socket.is_gone:
			_sockets.erase(socket)


class Exchange:
	var http := HTTPClient.new()
	var done := Later.new()
	var _method := ""
	var _path := ""
	var _headers: PackedStringArray = []
	var _body := ""
	var _is_sent := false
	var _content := PackedByteArray()

	func _init(method: String, url: String, headers: Dictionary, body: Variant) -> void:
		_method = method
		_body = body if body is String else ""
		for name: String in headers:
			_headers.append("%s: %s" % [name, headers[name]])
		var is_secure := url.begins_with("https://")
		var parts := url.get_slice("://", 1)
		var host := parts.get_slice("/", 0)
		_path = parts.substr(host.length())
		var port := 443 if is_secure else 80
		# The colons of an address in brackets are its own.
		if host.rfind(":") > host.find("]"):
			port = host.substr(host.rfind(":") + 1).to_int()
			host = host.substr(0, host.rfind(":"))
		http.read_chunk_size = 65_536
		var problem := http.connect_to_host(host.trim_prefix("[").trim_suffix("]"), port, TLSOptions.client() if is_secure else null)
		if problem != OK:
			_fail(error_string(problem))

	func _fail(problem: String) -> void:
		done.settle({"problem": problem})

	func poll() -> void:
		# In a browser a request goes on once a frame. Elsewhere it goes on while there is something to do.
		var turns := 1 if OS.has_feature("web") else 64
		while turns > 0 and not done.is_done and _step():
			turns -= 1

	# Returns whether a further step may find something to do.
	func _step() -> bool:
		var before := http.get_status()
		http.poll()
		var status := http.get_status()
		match status:
			HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING, HTTPClient.STATUS_REQUESTING:
				return status != before
			HTTPClient.STATUS_BODY:
				var chunk := http.read_response_body_chunk()
				_content.append_array(chunk)
				if _content.size() > MOST_BODY_BYTES:
					_fail("The answer is too long")
				elif http.get_status() in [HTTPClient.STATUS_CONNECTED, HTTPClient.STATUS_DISCONNECTED]:
					# Not after another poll, which would find that the service has closed the connection.
					_end()
				return not chunk.is_empty()
			HTTPClient.STATUS_CONNECTED, HTTPClient.STATUS_DISCONNECTED:
				if not _is_sent and status == HTTPClient.STATUS_CONNECTED:
					_is_sent = true
					var problem := http.request(METHODS[_method], _path, _headers, _body)
					if problem != OK:
						_fail(error_string(problem))
					return true
				_end()
			_:
				_fail("Connection status %d" % status)
		return false

	func _end() -> void:
		var length := http.get_response_body_length()
		if not http.has_response() or (length >= 0 and _content.size() != length and not http.is_response_chunked()):
			return _fail("The connection broke")
		var headers := {}
		for line: String in http.get_response_headers():
			headers[line.get_slice(":", 0).to_lower()] = line.substr(line.find(":") + 1).strip_edges()
		done.settle({"status": http.get_response_code(), "headers": headers, "text": _content.get_string_from_utf8()})


class Socket:
	signal _news
	## Milliseconds for which the other side may answer a close.
	const CLOSE_MS := 2000
	## Gives true once the socket is open, or false if it cannot be opened.
	var opening := Later.new()
	## The close code at the end. 1006: the connection broke.
	var code := 1006
	## Whether the connection is closed on both sides.
	var is_gone := false
	var _is_ended := false
	var _closed_at := 0
	var _peer := WebSocketPeer.new()
	var _inbox: Array[String] = []

	func open(url: String) -> void:
		_peer.inbound_buffer_size = MOST_MESSAGE_BYTES
		_peer.outbound_buffer_size = MOST_MESSAGE_BYTES
		if _peer.connect_to_url(url) != OK:
			_end()

	func send(text: String) -> void:
		if not _is_ended and _peer.get_ready_state() == WebSocketPeer.STATE_OPEN:
			_peer.send_text(text)

	## The next message, or null at the end.
	func receive() -> Variant:
		while _inbox.is_empty():
			if _is_ended:
				return null
			await _news
		return _inbox.pop_front()

	func close() -> void:
		if _is_ended:
			return
		_inbox.clear()
		_closed_at = Time.get_ticks_msec()
		var is_open := _peer.get_ready_state() == WebSocketPeer.STATE_OPEN
		if is_open:
			_peer.close(1000)
		_end(not is_open)

	func _end(is_whole := true) -> void:
		_is_ended = true
		if is_whole:
			is_gone = true
			_peer = null
		opening.settle(false)
		_news.emit()

	func poll() -> void:
		if is_gone:
			return
		_peer.poll()
		var state := _peer.get_ready_state()
		if _is_ended:
			if state == WebSocketPeer.STATE_CLOSED or Time.get_ticks_msec() - _closed_at > CLOSE_MS:
				_end()
			return
		if state == WebSocketPeer.STATE_OPEN:
			opening.settle(true)
		while not _is_ended and _peer.get_available_packet_count() > 0:
			_take(_peer.get_packet(), _peer.was_string_packet())
		if state == WebSocketPeer.STATE_CLOSED and not _is_ended:
			code = _peer.get_close_code() if _peer.get_close_code() > 0 else 1006
			_end()

	func _take(packet: PackedByteArray, is_text: bool) -> void:
		if not is_text:
			return close()
		_inbox.append(packet.get_string_from_utf8())
		_news.emit()
