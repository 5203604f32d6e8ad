-- Writes or removes a note on an account.
-- KEYS account, standing, notes
-- ARGV id, text ('': remove the note), most
-- Library standing.lua: standing_of
-- Answers changed unchanged full moving moved(account that it moved into) deleted(time) not_found
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
if redis.call('EXISTS', account) == 0 then return {'not_found'} end
if text == '' then return {redis.call('HDEL', notes, id) == 1 and 'changed' or 'unchanged'} end
if redis.call('HEXISTS', notes, id) == 1 then return {'unchanged'} end
if redis.call('HLEN', notes) >= tonumber(most) then return {'full'} end
redis.call('HSET', notes, id, text)
return {'changed'}
