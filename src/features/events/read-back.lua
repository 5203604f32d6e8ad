-- Reads events of some accounts, newest first.
-- KEYS state, chunks, forgotten
-- ARGV before (a position, or '': the end of the readable log), owners (ids of accounts, separated by blanks), limit, most (entries that the call reads)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers page(the position before which the next call goes on, 0 if the log begins there, number of entries searched, the oldest of them, entry …)
local readable = tonumber(redis.call('HGET', state, 'readable') or '0')
local at = math.min(readable, tonumber(before) or readable)
local answer, searched, oldest = {'page', '', '', ''}, 0, ''
local ids, is_owner = {}, {}
for id in string.gmatch(owners, '%S+') do ids[#ids + 1], is_owner[id] = id, true end
-- Whether a chunk may have events of the accounts. Most chunks have no such event, and a search through the text of a whole chunk takes a
-- third of the time of a search in each entry.
local function names_owner(entries)
  local text = table.concat(entries, '\n')
  for _, id in ipairs(ids) do
    if string.find(text, id, 1, true) then return true end
  end
end
local wanted, budget = tonumber(limit), tonumber(most)
while at > 0 and wanted > 0 and searched < budget do
  local chunk = redis.call('ZREVRANGEBYSCORE', chunks, position_text(math.floor((at - 1) / CHUNK_LENGTH)), '-inf', 'LIMIT', 0, 1)[1]
  if not chunk then at = 0 break end
  local key, first = chunk_key(state, tonumber(chunk)), tonumber(chunk) * CHUNK_LENGTH
  -- If the log jumped ahead, a chunk has fewer entries than CHUNK_LENGTH.
  local last = math.min(at - first, redis.call('LLEN', key))
  local from = math.max(0, last - (budget - searched))
  local entries = last > 0 and redis.call('LRANGE', key, from, last - 1) or {}
  at = first + from
  if not names_owner(entries) then
    searched, oldest = searched + math.max(1, #entries), entries[1] or oldest
  else
    for index = #entries, 1, -1 do
      local entry = entries[index]
      local told, account = string.match(entry, '^(%S+ %S+ (%S+) %S+)')
      oldest, searched = entry, searched + 1
      if is_owner[account] then
        -- Like read-log.lua, this script returns an event of a deleted account without its data.
        answer[#answer + 1] = redis.call('ZSCORE', forgotten, account) and told or entry
        wanted = wanted - 1
        if wanted == 0 then at = first + from + index - 1 break end
      end
    end
  end
end
answer[2], answer[3], answer[4] = position_text(at), position_text(searched), oldest
return answer
