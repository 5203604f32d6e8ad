-- Closes a season and fixes its prizes, if by Redis's clock the season has ended and the wait before the payment of prizes is over.
-- KEYS scores
-- ARGV season
-- Library board.lua: range
-- Library season.lua: redis_time, season_key, current_season
-- Answers none early(milliseconds to wait) paying paid
--
-- If a season has no score, the script answers `none` once no score can reach the season any more. Before that it answers `early`, because
-- the first score may be on its way: a process puts a season into the queue before the first score, and the process's clock may be ahead of
-- Redis's.
--
-- The script writes the end of the season to the key `closed`, so that no later score reaches the season, even if Redis's clock is set
-- back. For each prize it records the score of the last winning entry as a threshold, so that no prize changes when an entry leaves the
-- board later.
local season_hash = season_key(scores, 'season:' .. season)
local facts = redis.call('HMGET', season_hash, 'state', 'endsAt', 'payAfterMs', 'order', 'prizes')
local micros = redis_time()
local millis = math.floor(micros / 1000)
if not facts[1] then
  local period = #season == 7 and 'monthly' or #season == 8 and 'weekly' or 'daily'
  local current, end_of_current = current_season(scores, period, micros)
  if current ~= season then return {'none'} end
  return {'early', string.format('%.0f', end_of_current - millis)}
end
if facts[1] ~= 'open' then return {facts[1]} end
local ends = tonumber(facts[2])
local due = ends + tonumber(facts[3])
if millis < due then return {'early', string.format('%.0f', due - millis)} end

local closed_key, season_scores = season_key(scores, 'closed'), season_hash .. ':scores'
local is_ascending, thresholds = facts[4] == 'asc', {}
for up_to, coins in string.gmatch(facts[5], '<prize>') do
  local last = range(season_scores, is_ascending, up_to - 1, up_to - 1)
  thresholds[#thresholds + 1] = string.format('<threshold>', last[2] or '*', coins)
  -- The board has fewer entries than there are places for this prize and the better prizes, so every remaining entry wins this prize.
  if not last[2] then break end
end
local entries = redis.call('ZCARD', season_scores)
local state = (#thresholds > 0 and entries > 0) and 'paying' or 'paid'
redis.call('SET', closed_key, string.format('%.0f', math.max(ends, tonumber(redis.call('GET', closed_key) or 0))))
redis.call('HSET', season_hash, 'state', state, 'closedAt', string.format('%.0f', millis), 'entries', string.format('%d', entries),
  'thresholds', table.concat(thresholds, ' '))
if emits then
  -- The event `board.season_ended` does not belong to an account.
  local prizes, last = 0, thresholds[#thresholds] and string.match(thresholds[#thresholds], '^[^:]+')
  if last == '*' then prizes = entries
  elseif last then
    prizes = is_ascending and redis.call('ZCOUNT', season_scores, '-inf', last) or redis.call('ZCOUNT', season_scores, last, '+inf')
  end
  emit(string.format('e - - %s %s %d %d', string.match(scores, '^{board:(.-)}'), season, entries, prizes))
end
return {state}
