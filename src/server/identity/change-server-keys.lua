-- Makes, changes and removes server keys: all changes or none. Tells every process by a message on a channel.
-- KEYS records, used
-- ARGV changes, most
-- Answers changed conflict full
--
-- `changes` is a JSON list of [id, record as the caller read it, new record]; '' stands for no record. `conflict`: a record has changed
-- since the caller read it. `full`: there would be more than `most` keys.
local list, count = cjson.decode(changes), redis.call('HLEN', records)
for _, change in ipairs(list) do
  local id, before, after = unpack(change)
  if (redis.call('HGET', records, id) or '') ~= before then return {'conflict'} end
  count = count + (after == '' and 0 or 1) - (before == '' and 0 or 1)
end
if count > tonumber(most) then return {'full'} end

for _, change in ipairs(list) do
  local id, _, after = unpack(change)
  if after ~= '' then
    redis.call('HSET', records, id, after)
  else
    redis.call('HDEL', records, id)
    redis.call('HDEL', used, id)
  end
end
publish(records, '')
return {'changed'}
