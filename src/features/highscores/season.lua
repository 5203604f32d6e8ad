-- The seasons of a board, shared by every script that reads a board or changes one.
-- Gives redis_time(), season_key(), season_at(), current_season(), board_for(), shown_version(), prize_of(), order_of(), is_of_season(), is_closed(), keep_payout() and bar_payout().
--
-- The keys of a game's seasons begin with '{board:<game>}:', as the keys of its board of all time. Both share `secret` and `arrivals`:
--   seasons              a sorted set: the ids of the seasons that have a board, by their ends in milliseconds since 1970
--   closed               the end of the latest season that was closed, in milliseconds since 1970
--   season:<id>          a hash: the rules that the season has since its first score, and its state
--   season:<id>:scores, season:<id>:players   as of a board
--   season:<id>:payouts  a hash: payouts by player id (`seasonPayout`)
--   season:<id>:unpaid   a list: the players of payouts without an outcome, best first
--
-- A season's hash has `order`, `endsAt`, `payAfterMs`, `keep` and `prizes` ('1:500 10:50') from the catalogue at its first score, and a `state`:
--   open    it accepts scores until its end
--   paying  it is closed, and `thresholds` fix the least score that wins each prize ('1250:500 900:50')
--   paid    every payout has its outcome
local DAY_MS = 86400000

-- Redis's clock, in microseconds since 1970.
local function redis_time()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- '{board:<game>}:closed' for '{board:<game>}:scores' and 'closed'.
local function season_key(scores, name) return string.sub(scores, 1, -7) .. name end

-- The days from 1970-01-01 to the first day of a month, which may be 13.
local function days_to(year, month)
  if month > 12 then year, month = year + 1, month - 12 end
  -- The year begins in March, so that the leap day is its last one.
  if month <= 2 then year, month = year - 1, month + 12 end
  local of_months = math.floor((153 * (month - 3) + 2) / 5)
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400) + of_months - 719468
end

local function year_and_month(day)
  local year = 1970 + math.floor(day / 365.2425)
  if days_to(year, 1) > day then year = year - 1 elseif days_to(year + 1, 1) <= day then year = year + 1 end
  local month = math.min(12, math.floor((day - days_to(year, 1)) / 29) + 1)
  while days_to(year, month) > day do month = month - 1 end
  return year, month
end

-- The season of a time, both in milliseconds since 1970: its id and its end. Weeks follow ISO 8601: they begin on Monday, and belong to the
-- year that has their Thursday.
local function season_at(time, period)
  local day = math.floor(time / DAY_MS)
  if period == 'weekly' then
    local monday = day - (day + 3) % 7
    local year = year_and_month(monday + 3)
    local week = math.floor((monday + 3 - days_to(year, 1)) / 7) + 1
    return string.format('%04d-W%02d', year, week), (monday + 7) * DAY_MS
  end
  local year, month = year_and_month(day)
  if period == 'monthly' then return string.format('%04d-%02d', year, month), days_to(year, month + 1) * DAY_MS end
  return string.format('%04d-%02d-%02d', year, month, day - days_to(year, month) + 1), (day + 1) * DAY_MS
end

-- The season of a score that arrives now, by Redis's clock. If the clock was set back, the season after the latest closed one: no score may
-- reach a closed season.
local function current_season(scores, period, micros)
  local closed = tonumber(redis.call('GET', season_key(scores, 'closed')) or 0)
  return season_at(math.max(math.floor(micros / 1000), closed), period)
end

-- Finds the board that a reader wants: '' the current season, 'all' the board of all time, otherwise the id of a season.
-- Returns its scores, its players and its order, and for a season its id and its end as text. Nil if there is no such season.
local function board_for(scores, players, order, period, wanted)
  if wanted == 'all' or (wanted == '' and period == '') then return scores, players, order, '', '' end
  local id, ends
  if period ~= '' then id, ends = current_season(scores, period, redis_time()) end
  if wanted ~= '' and wanted ~= id then id, ends = wanted, redis.call('ZSCORE', season_key(scores, 'seasons'), wanted) end
  if not ends then return nil end
  local season = season_key(scores, 'season:' .. id)
  return season .. ':scores', season .. ':players', redis.call('HGET', season, 'order') or order, id, string.format('%.0f', ends)
end

-- The version of a list for readers. It must also rise when a season ends, so the day on which the season ends is added to the counter.
-- `ends` is '' for the board of all time.
local function shown_version(counter, ends)
  local number = tonumber(counter or 0)
  if ends ~= '' then number = number + math.floor(ends / DAY_MS) end
  return string.format('%.0f', number)
end

-- The coins that a score wins: the coins of the first threshold that it reaches.
local function prize_of(thresholds, is_ascending, score)
  score = tonumber(score)
  for least, coins in string.gmatch(thresholds, '<threshold>') do
    if least == '*' then return coins end
    least = tonumber(least)
    if (is_ascending and score <= least) or (not is_ascending and score >= least) then return coins end
  end
  return '0'
end

-- The order of the board with these scores. A season keeps its own order; `order` is the game's.
local function order_of(scores, order) return redis.call('HGET', string.sub(scores, 1, -8), 'order') or order end

-- Whether these scores are the board of a season.
local function is_of_season(scores) return string.find(scores, ':season:', 1, true) ~= nil end

-- Whether these scores are the board of a closed season.
local function is_closed(scores)
  local state = redis.call('HGET', string.sub(scores, 1, -8), 'state')
  return state == 'paying' or state == 'paid'
end

-- Records the payout of a player of a closed season before the entry leaves the board or moves to another account, because the payouts are
-- fixed at the moment when the season is closed. `scores` is the season's; on any other board this does nothing.
local function keep_payout(scores, player_id, account_id, score)
  local season = string.sub(scores, 1, -8)
  local facts = redis.call('HMGET', season, 'state', 'isNoted', 'thresholds', 'order')
  if facts[1] ~= 'paying' or facts[2] then return end
  local coins = score and prize_of(facts[3], facts[4] == 'asc', score) or '0'
  if redis.call('HSETNX', season .. ':payouts', player_id, string.format('<payout: account_id, coins>', account_id, coins)) == 1 and coins ~= '0' then
    redis.call('RPUSH', season .. ':unpaid', player_id)
  end
end

-- A player must not win with an entry that arrived after the season was closed. An existing payout of the player stays.
local function bar_payout(scores, player_id, account_id)
  local season = string.sub(scores, 1, -8)
  if (redis.call('HGET', season, 'thresholds') or '') ~= '' then
    redis.call('HSETNX', season .. ':payouts', player_id, string.format('<payout: account_id, coins>', account_id, 0))
  end
end
