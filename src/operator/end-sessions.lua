-- Ends all sessions of an account, also of one that is banned: new sessions belong to the next generation.
-- KEYS moves
-- ARGV -
-- Answers ended(generation) moving moved(account that it moved into) deleted
--
-- prologue-check.lua describes the record.
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
if first == '>' then return {'moved', string.sub(record, 2)} end
if first == '~' then return {'moving'} end
if first == '=' then return {'deleted'} end
local ban, behind = string.match(record, '^(![^\n]*\n)(.*)$')
if not ban then ban, behind = '', record end
local generation, guests = string.match(behind, '^#(%d+)\n(.*)$')
if not generation then generation, guests = '0', behind end
local next_generation = string.format('%d', tonumber(generation) + 1)
redis.call('SET', moves, ban .. '#' .. next_generation .. '\n' .. guests)
-- Every process subscribes to `moves` and takes the caller from the sessions' room connections.
announce('moves', string.match(moves, '^{(.-)}'))
return {'ended', next_generation}
