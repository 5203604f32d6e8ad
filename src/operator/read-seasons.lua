-- Reads the seasons of a game, the latest first.
-- KEYS scores, seasons
-- ARGV -
-- Library season.lua: season_key
-- Answers seasons(season, state, order, endsAt, payAfterMs, keep, prizes, closedAt, entries, unpaid, paid, paidCoins …)
--
-- All figures of a season are '?' if its data is damaged, so that it hides no other season.
local answer = {'seasons'}
local fields = {'state', 'order', 'endsAt', 'payAfterMs', 'keep', 'prizes', 'closedAt'}
for _, season in ipairs(redis.call('ZREVRANGE', seasons, 0, -1)) do
  local season_hash = season_key(scores, 'season:' .. season)
  local is_whole, figures = pcall(function()
    local found = {}
    for _, value in ipairs(redis.call('HMGET', season_hash, unpack(fields))) do found[#found + 1] = value or '' end
    found[#found + 1] = string.format('%d', redis.call('ZCARD', season_hash .. ':scores'))
    found[#found + 1] = string.format('%d', redis.call('LLEN', season_hash .. ':unpaid'))
    for _, value in ipairs(redis.call('HMGET', season_hash, 'paid', 'paidCoins')) do found[#found + 1] = value or '0' end
    return found
  end)
  answer[#answer + 1] = season
  for place = 1, 11 do answer[#answer + 1] = is_whole and figures[place] or '?' end
end
return answer
