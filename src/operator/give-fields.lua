-- Writes fields that operators give an account, or removes them.
-- KEYS account, standing
-- ARGV names (JSON list), values (JSON list, '': remove the fields)
-- Library standing.lua: standing_of
-- Answers changed(the first field before, or '') moving moved(account that it moved into) deleted(time) not_found
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
-- An account's standing may exist without the account, because of a ban or a sign-out.
if redis.call('EXISTS', account) == 0 then return {'not_found'} end
local fields = cjson.decode(names)
local before = redis.call('HGET', account, fields[1]) or ''
if values == '' then redis.call('HDEL', account, unpack(fields)) end
for index, value in ipairs(values == '' and {} or cjson.decode(values)) do redis.call('HSET', account, fields[index], value) end
return {'changed', before}
