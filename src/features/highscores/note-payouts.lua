-- Records the next payouts of a closed season, best first.
-- KEYS scores
-- ARGV season, count
-- Library board.lua: player_id_in, account_in, range, behind
-- Library season.lua: season_key, prize_of
-- Answers more done
--
-- `lastScore` and `lastHead` in the season's hash name the entry at which the last call ended. If an entry leaves the board between two
-- calls, `keep_payout` of season.lua records its payout.
local season_hash = season_key(scores, 'season:' .. season)
local facts = redis.call('HMGET', season_hash, 'state', 'isNoted', 'thresholds', 'order', 'lastScore', 'lastHead')
if facts[1] ~= 'paying' or facts[2] then return {'done'} end
local season_scores, season_players, is_ascending = season_hash .. ':scores', season_hash .. ':players', facts[4] == 'asc'
local from = facts[5] and behind(season_scores, is_ascending, facts[5], facts[6]) or 0
local found = range(season_scores, is_ascending, from, from + count - 1)
local is_last = #found < 2 * count
for index = 1, #found, 2 do
  local member, score = found[index], found[index + 1]
  local coins = prize_of(facts[3], is_ascending, score)
  if coins == '0' then
    is_last = true
    break
  end
  local player_id = player_id_in(member)
  local text = redis.call('HGET', season_players, player_id)
  -- `text` is missing only if the data is damaged, so that the entry has no player.
  local payout = text and string.format('<payout: account_id, coins>', account_in(text), coins)
  if payout and redis.call('HSETNX', season_hash .. ':payouts', player_id, payout) == 1 then
    redis.call('RPUSH', season_hash .. ':unpaid', player_id)
  end
end
if not is_last then
  redis.call('HSET', season_hash, 'lastScore', found[#found], 'lastHead', string.sub(found[#found - 1], '<member: place..player_id>'))
  return {'more'}
end
redis.call('HSET', season_hash, 'isNoted', '1')
redis.call('HDEL', season_hash, 'lastScore', 'lastHead')
if redis.call('EXISTS', season_hash .. ':unpaid') == 0 then redis.call('HSET', season_hash, 'state', 'paid') end
return {'done'}
