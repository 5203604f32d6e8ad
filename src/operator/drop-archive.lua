-- Deletes the entries of an archive. The archive stays in the list with the time of its deletion. So the audit does not expect its entries.
-- KEYS archives, archived_scores, archived_players
-- ARGV number, dropped_at
-- Answers dropped none
local text = redis.call('HGET', archives, number)
if not text or string.find(text, '"droppedAt":', 1, true) then return {'none'} end
redis.call('UNLINK', archived_scores, archived_players)
redis.call('HSET', archives, number, string.sub(text, 1, -2) .. ',"droppedAt":' .. dropped_at .. '}')
return {'dropped'}
