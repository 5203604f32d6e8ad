-- Notes that a process can accept channels. Returns the time since which at least one process could at any moment.
-- KEYS served
-- ARGV process, began, takes, gap_ms, kept_ms
-- Answers since(time)
--
-- served   a hash: since when processes could take channels (`since`), in milliseconds since 1970; and of each process by its id when it began
--          and when it last noted that it takes channels
-- process  the id of the process that calls
-- began    when this process began, in milliseconds since 1970
-- takes    '1', or '' for a process that only asks, because it is stopping
--
-- A process that begins cannot know at once whether another process still serves, because the last note may be from a process that has just
-- died. So a new process assumes that no process served until it began itself, unless it sees a new note of a process that began earlier.
local at = tonumber(now)
local since, last, is_another_alive = 0, 0, false
local fields = redis.call('HGETALL', served)
for place = 1, #fields, 2 do
  local name, text = fields[place], fields[place + 1]
  if name == 'since' then since = tonumber(text)
  else
    local other_began, other_last = string.match(text, '<served>')
    last = math.max(last, tonumber(other_last))
    if name ~= process and tonumber(other_began) < tonumber(began) and tonumber(other_last) > tonumber(began) then is_another_alive = true end
    if at - other_last > tonumber(kept_ms) then redis.call('HDEL', served, name) end
  end
end
if at - last > tonumber(gap_ms) then since = at end
local is_first = not is_another_alive and tonumber(began) > since
if is_first then since = tonumber(began) end
if takes == '1' then
  -- After this time every other process that serves has written a new note.
  if not is_first or at - began > tonumber(gap_ms) then redis.call('HSET', served, 'since', string.format('%d', since)) end
  redis.call('HSET', served, process, string.format('<served>', began, at))
  redis.call('PEXPIRE', served, kept_ms)
end
return {'since', string.format('%d', since)}
