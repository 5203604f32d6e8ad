-- A library of functions on the seasons of a board, for every script that reads or changes a board.
-- Gives redis_time(), season_key(), season_at(), current_season(), board_for(), shown_version(), prize_of(), order_of(), is_of_season(), is_closed(), keep_payout() and bar_payout().
--
-- The keys of a game's seasons begin with '{board:<game>}:', as the keys of its board of all time do. The seasons use the keys `secret` and
-- `arrivals` of that board. The keys of seasons are:
--   seasons              a sorted set: the ids of the seasons that have a board, by their ends in milliseconds since 1970
--   closed               the end of the latest season that was closed, in milliseconds since 1970
--   season:<id>          a hash: the season's rules, which are fixed at its first score, and its state
--   season:<id>:scores, season:<id>:players   as the keys `scores` and `players` of a board
--   season:<id>:payouts  a hash: payouts by player id (`seasonPayout`)
--   season:<id>:unpaid   a list: the ids of the players whose payouts have no outcome yet, best first
--
-- A season's hash has the rules `order`, `endsAt`, `payAfterMs`, `keep` and `prizes` ('1:500 10:50'), as the catalogue had them at the
-- season's first score, and a `state`:
--   open    it accepts scores until its end
--   paying  it is closed, and `thresholds` fix the least score that wins each prize ('1250:500 900:50')
--   paid    every payout has its outcome
local DAY_MS = 86400000

-- The present time by Redis's clock, in microseconds since 1970.
local function redis_time()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The key with this name that belongs to the same board as the key `scores`: '{board:<game>}:closed' for '{board:<game>}:scores' and
-- 'closed'.
local function season_key(scores, name) return string.sub(scores, 1, -7) .. name end

-- The number of days from 1970-01-01 to the first day of a month. `month` may be 13: January of the next year.
local function days_to(year, month)
  if month > 12 then year, month = year + 1, month - 12 end
  -- Months are counted from March, so that the leap day is the last day of the year.
  if month <= 2 then year, month = year - 1, month + 12 end
  local of_months = math.floor((153 * (month - 3) + 2) / 5)
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400) + of_months - 719468
end

local function year_and_month(day)
  local year = 1970 + math.floor(day / 365.2425)
  if days_to(year, 1) > day then year = year - 1 elseif days_to(year + 1, 1) <= day then year = year + 1 end
  local month = math.min(12, math.floor((day - days_to(year, 1)) / 29) + 1)
  -- A time beyond all calendars is damaged. Its months have no days, so the search would never end.
  while month > 1 and days_to(year, month) > day do month = month - 1 end
  return year, month
end

-- Returns the id and the end of the season to which a time belongs. The time and the end are in milliseconds since 1970. Weeks follow ISO
-- 8601: a week begins on Monday, and belongs to the year of its Thursday.
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

-- Returns the id and the end of the season for a score that arrives now. `micros`: the time of Redis's clock. If the clock was set back,
-- this is the season after the latest closed season, because no score may reach a closed season.
local function current_season(scores, period, micros)
  local closed = tonumber(redis.call('GET', season_key(scores, 'closed')) or 0)
  return season_at(math.max(math.floor(micros / 1000), closed), period)
end

-- Finds the board that a reader wants. `wanted`: '' for the current season, 'all' for the board of all time, otherwise the id of a season.
-- Returns the board's key of scores, its key of players and its order, then the season's id and its end as text ('' for the board of all
-- time). Returns nil if the game has no season with this id.
local function board_for(scores, players, order, period, wanted)
  if wanted == 'all' or (wanted == '' and period == '') then return scores, players, order, '', '' end
  local id, ends
  if period ~= '' then id, ends = current_season(scores, period, redis_time()) end
  if wanted ~= '' and wanted ~= id then id, ends = wanted, redis.call('ZSCORE', season_key(scores, 'seasons'), wanted) end
  if not ends then return nil end
  local season = season_key(scores, 'season:' .. id)
  return season .. ':scores', season .. ':players', redis.call('HGET', season, 'order') or order, id, string.format('%.0f', ends)
end

-- The version of a list, as readers get it. The version is the counter of changes plus the day on which the season ends, so that the
-- version also rises when a season ends. `ends`: the season's end in milliseconds since 1970, or '' for the board of all time.
local function shown_version(counter, ends)
  local number = tonumber(counter or 0)
  if ends ~= '' then number = number + math.floor(ends / DAY_MS) end
  return string.format('%.0f', number)
end

-- The coins that a score wins: the coins of the first threshold that the score reaches, or '0' if it reaches no threshold.
local function prize_of(thresholds, is_ascending, score)
  score = tonumber(score)
  for least, coins in string.gmatch(thresholds, '<threshold>') do
    if least == '*' then return coins end
    least = tonumber(least)
    if (is_ascending and score <= least) or (not is_ascending and score >= least) then return coins end
  end
  return '0'
end

-- The order of the board with this key of scores. A season's board has the season's own order, and the board of all time has `order`, the
-- order of the game.
local function order_of(scores, order) return redis.call('HGET', string.sub(scores, 1, -8), 'order') or order end

-- Whether this key of scores belongs to the board of a season.
local function is_of_season(scores) return string.find(scores, ':season:', 1, true) ~= nil end

-- Whether this key of scores belongs to the board of a closed season.
local function is_closed(scores)
  local state = redis.call('HGET', string.sub(scores, 1, -8), 'state')
  return state == 'paying' or state == 'paid'
end

-- Records the payout of a player on the board of a closed season. To be called before the player's entry leaves the board or moves to
-- another account. The player keeps the prize, because the prizes are fixed when the season is closed. `scores`: the board's key of scores.
-- On any other board this does nothing.
local function keep_payout(scores, player_id, account_id, score)
  local season = string.sub(scores, 1, -8)
  local facts = redis.call('HMGET', season, 'state', 'isNoted', 'thresholds', 'order')
  if facts[1] ~= 'paying' or facts[2] then return end
  local coins = score and prize_of(facts[3], facts[4] == 'asc', score) or '0'
  if redis.call('HSETNX', season .. ':payouts', player_id, string.format('<payout: account_id, coins>', account_id, coins)) == 1 and coins ~= '0' then
    redis.call('RPUSH', season .. ':unpaid', player_id)
  end
end

-- Records a payout of 0 coins for a player of a closed season. So the player wins nothing with an entry that comes to the board after the
-- season was closed. A payout that the player already has stays.
local function bar_payout(scores, player_id, account_id)
  local season = string.sub(scores, 1, -8)
  if (redis.call('HGET', season, 'thresholds') or '') ~= '' then
    redis.call('HSETNX', season .. ':payouts', player_id, string.format('<payout: account_id, coins>', account_id, 0))
  end
end
