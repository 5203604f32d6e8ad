-- Gives text_of(), parse_id() and now_text() to the scripts of the data id (data-id.ts).

-- A value of another type, which another client wrote, is read as a text that is neither an id nor a secret.
local function text_of(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then return value or '' end
  if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value) end
  return 'a value of another type'
end

-- Returns the id, the heartbeat, when it was last advanced, when the data was accepted, and the refusal ('': none). Nil: the text is no id.
local function parse_id(text)
  local id, heartbeat, beaten_at, accepted_at = string.match(text, '^(%S+) (%d+) (%d+) (%d+)$')
  if id then return id, heartbeat, beaten_at, accepted_at, '' end
  return string.match(text, '^refused: (%S+) (%d+) (%d+) (%d+) (.+)$')
end

-- The time of this Redis, in milliseconds since 1970.
local function now_text()
  local time = redis.call('TIME')
  return string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
end
