-- Gives functions that read the data id (data-id.ts) to the scripts: text_of(), parse_id() and now_text().

-- Reads the key as text. The text is '' if the key does not exist. For a value of another type, which another client wrote, returns a text
-- that is no id and no secret.
local function text_of(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' then return value or '' end
  if not string.find(value.err, 'WRONGTYPE', 1, true) then error(value) end
  return 'a value of another type'
end

-- Returns the id, the heartbeat, the time at which the heartbeat was last advanced, the time at which the data was accepted, and the
-- refusal ('' for none). Nil: the text is no id.
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
