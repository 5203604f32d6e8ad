-- Reads the seasons of a game, the latest first.
-- KEYS scores, seasons
-- ARGV -
-- Library season.lua: season_key
-- Answers seasons(season, state, order, endsAt, payAfterMs, keep, prizes, closedAt, entries, unpaid, paid, paidCoins …)
local answer = {'seasons'}
local fields = {'state', 'order', 'endsAt', 'payAfterMs', 'keep', 'prizes', 'closedAt'}
for _, season in ipairs(redis.call('ZREVRANGE', seasons, 0, -1)) do
  local season_hash = season_key(scores, 'season:' .. season)
  answer[#answer + 1] = season
  for _, value in ipairs(redis.call('HMGET', season_hash, unpack(fields))) do answer[#answer + 1] = value or '' end
  answer[#answer + 1] = string.format('%d', redis.call('ZCARD', season_hash .. ':scores'))
  answer[#answer + 1] = string.format('%d', redis.call('LLEN', season_hash .. ':unpaid'))
  for _, value in ipairs(redis.call('HMGET', season_hash, 'paid', 'paidCoins')) do answer[#answer + 1] = value or '0' end
end
return answer
