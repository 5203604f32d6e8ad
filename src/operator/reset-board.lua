-- Empties a board and keeps its entries in an archive.
-- KEYS scores, players, version, archives, archived_scores, archived_players
-- ARGV game, number, archive
-- Answers reset(entries) empty taken
--
-- `number` is the number of the archive, and `archive` is its JSON without the count of entries. `taken`: another reset took the number. A
-- score that arrives before this script runs is in the archive; a later one is on the new board. The counter of arrivals is not reset, so
-- that the position of each entry stays unique in the game.
local entries = redis.call('ZCARD', scores)
if redis.call('HLEN', archives) + 1 ~= tonumber(number) then return {'taken'} end
if entries == 0 then return {'empty'} end
redis.call('RENAME', scores, archived_scores)
if redis.call('EXISTS', players) == 1 then redis.call('RENAME', players, archived_players) end
redis.call('HSET', archives, number, string.sub(archive, 1, -2) .. string.format(',"entries":%d}', entries))
redis.call('INCR', version)
publish('{board:' .. game .. '}', '-')
return {'reset', string.format('%d', entries)}
