-- Notes when server keys were last used. A noted time never goes back, whichever process notes its time first.
-- KEYS records, used
-- ARGV uses
-- Answers noted
--
-- `uses` is a JSON list of [id, milliseconds since 1970 as a string].
for _, use in ipairs(cjson.decode(uses)) do
  local id, at = unpack(use)
  local is_later = tonumber(at) > tonumber(redis.call('HGET', used, id) or '0')
  if is_later and redis.call('HEXISTS', records, id) == 1 then redis.call('HSET', used, id, at) end
end
return {'noted'}
