-- Reads events from a position on.
-- KEYS state, chunks, forgotten
-- ARGV after, limit, letters (of the wanted types, or '': all), most (entries that the call reads)
-- Library log.lua: CHUNK_LENGTH, chunk_key, position_text
-- Answers page(next position, 1 if no more may be read, position or entry …) ahead(readable)
--
-- The answer has the position of an entry only if the entry does not directly follow the previous entry. A position for each entry would
-- double the cost for Redis and for the process.
-- Events of a deleted account are returned without data as soon as the account is deleted. A sweep later removes the data from the log
-- (forget-events.lua).
local readable = tonumber(redis.call('HGET', state, 'readable') or '0')
local at = tonumber(after)
if at > readable then return {'ahead', position_text(readable)} end
local answer, searched, following_at = {'page', '', ''}, 0, nil
local has_forgotten = redis.call('EXISTS', forgotten) == 1
local wanted, budget = tonumber(limit), tonumber(most)
while at < readable and wanted > 0 and searched < budget do
  local chunk = math.floor(at / CHUNK_LENGTH)
  local offset = at % CHUNK_LENGTH
  local count = math.min(CHUNK_LENGTH - offset, readable - at, budget - searched)
  if letters == '' then count = math.min(count, wanted) end
  local entries = redis.call('LRANGE', chunk_key(state, chunk), offset, offset + count - 1)
  if #entries == 0 then
    -- The chunk was dropped, or it ends at this position because the log jumped ahead.
    local following = redis.call('ZRANGEBYSCORE', chunks, '(' .. position_text(chunk), '+inf', 'LIMIT', 0, 1)[1]
    at = following and math.min(readable, following * CHUNK_LENGTH) or readable
    searched = searched + 1
  end
  for _, entry in ipairs(entries) do
    if wanted == 0 then break end
    if letters == '' or string.find(letters, string.sub(entry, 1, 1), 1, true) then
      if has_forgotten then
        local told, account = string.match(entry, '^(%S+ %S+ (%S+) %S+) ')
        if told and redis.call('ZSCORE', forgotten, account) then entry = told end
      end
      if at ~= following_at then answer[#answer + 1] = position_text(at) end
      answer[#answer + 1] = entry
      following_at = at + 1
      wanted = wanted - 1
    end
    at = at + 1
    searched = searched + 1
  end
end
answer[2], answer[3] = position_text(at), at >= readable and '1' or ''
return answer
