-- Deletes the oldest closed seasons of a game. The newest closed season has the number of closed seasons that stay, as `keep` in its rules.
-- KEYS scores, seasons
-- ARGV -
-- Library season.lua: season_key
-- Answers dropped(season …)
--
-- UNLINK frees the memory in another thread, so that the deletion of a board with a million entries does not block Redis.
local answer, closed = {'dropped'}, {}
for _, id in ipairs(redis.call('ZREVRANGE', seasons, 0, -1)) do
  local facts = redis.call('HMGET', season_key(scores, 'season:' .. id), 'state', 'keep')
  -- A season may have lost its hash. The script then counts the season as closed, and deletes its board too.
  if facts[1] ~= 'open' and facts[1] ~= 'paying' then closed[#closed + 1] = {id = id, keep = tonumber(facts[2])} end
end
local keep = closed[1] and closed[1].keep or 0
for place = keep + 1, #closed do
  local id = closed[place].id
  local season_hash = season_key(scores, 'season:' .. id)
  redis.call('UNLINK', season_hash, season_hash .. ':scores', season_hash .. ':players', season_hash .. ':payouts', season_hash .. ':unpaid')
  redis.call('ZREM', seasons, id)
  answer[#answer + 1] = id
end
return answer
