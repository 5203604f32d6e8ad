-- Submits a score. A board keeps the account's best score, with the name that the account sent last. In a game with seasons the board of
-- the current season gets the score too, and the answer shows the season's board.
-- KEYS scores, players, arrivals, version, secret, account_boards
-- ARGV game, order, known, account_id, name, score, new_board_barred, opened
-- Shared publisher, seed, size, proof_wanted, period, rules
-- Prologue open-account.lua: account, creation_barred, open_account, creation_used, is_proven, list_in_account, answer
-- Library board.lua: make_player_id, next_arrival, place_text, entry_of_account, put, hidden_score, show, rank_of, range
-- Library season.lua: redis_time, season_key, current_season, shown_version
-- Answers integrity_failed game_not_found season_unopened(season, its end) done(processes that listen, personal best 0|1, rank, best, season or '', its end, version, member, score …)
--
-- The key `version` changes whenever the first `size` entries may have changed, and only then: after a submission, or because an entry
-- leaves the board or moves to another account. If the key does not exist, the version is 0. If the version still equals `known`, the
-- caller already has the entries, and the answer ends with the version.
--
-- proof_wanted      '1' if the account's install must have been proven genuine
-- new_board_barred  '1' if the first score of a board is refused
-- period            daily, weekly or monthly; '' for a game without seasons
-- rules             '<payAfterMs> <keep> <prizes>', which a season gets with its first score
-- opened            the season that the caller has put into the queue of payments. The first score of any other season is refused
local is_ascending = order == 'asc'

if proof_wanted == '1' and not is_proven(account) then return {'integrity_failed'} end

local season, ends = '', ''
local micros, season_hash, season_order
if period ~= '' then
  micros = redis_time()
  season, ends = current_season(scores, period, micros)
  season_hash = season_key(scores, 'season:' .. season)
  season_order = redis.call('HGET', season_hash, 'order')
  if not season_order and opened ~= season then return {'season_unopened', season, string.format('%.0f', ends)} end
end

-- Returns the account's entry on a board, the entry's score, whether the new score is better, and the account's player id.
local function read_best(of_scores, of_players, ascending)
  local entry, id, is_taken = entry_of_account(secret, of_players, account_id)
  if is_taken then error('ERR two accounts have the player id ' .. id .. ' in ' .. of_players, 0) end
  -- `of_scores` may lack the entry for two reasons: an operator has deleted the board's scores, or a ban ended a moment ago and the entry
  -- is still hidden (ban-journal.ts).
  local best = entry and redis.call('ZSCORE', of_scores, entry.member)
  if entry and not best then
    entry.hidden = hidden_score(of_players, entry)
    best = entry.hidden
  end
  local given, standing = tonumber(score), best and tonumber(best)
  local is_better = not best or (ascending and given < standing) or (not ascending and given > standing)
  return entry, best, is_better, id
end

local held, best, is_better, player_id = read_best(scores, players, is_ascending)
-- The service never deletes a board. So a board's first score counts as a creation, as a new account does, within the limit of the client's
-- address.
local is_new_board = not held and redis.call('EXISTS', scores) == 0
if is_new_board and new_board_barred == '1' then return {'game_not_found'} end
if is_new_board and creation_barred ~= '' then return {'rate_limited'} end
if not held and not open_account(account, creation_barred) then return {'rate_limited'} end

-- From here on nothing refuses the score.
creation_used = is_new_board
player_id = player_id or make_player_id(secret, seed, account_id)

local arrival
-- Writes the entry of the account on a board, if the score or the name changes. Returns the account's score on the board, and whether the
-- board has changed.
local function keep(of_scores, of_players, ascending, entry, standing, improves)
  if not improves and entry.name == name and not entry.hidden then return standing, false end
  if entry and entry.hidden then show(of_scores, of_players, entry, standing) end
  if entry then redis.call('ZREM', of_scores, entry.member) end
  local place
  if improves then
    arrival = arrival or next_arrival(arrivals, micros or redis_time())
    place, standing = place_text(arrival, ascending), score
  else place = entry.place end
  put(of_scores, of_players, account_id, player_id, place, name, standing)
  return standing, true
end

local is_changed
best, is_changed = keep(scores, players, is_ascending, held, best, is_better)
if not held then list_in_account(account_boards, game) end

-- The Redis key of the scores on the board that the answer shows.
local shown_scores = scores
if season ~= '' then
  if not season_order then
    local pay_after, keeps, prizes = string.match(rules, '^(%d+) (%d+) (.*)$')
    season_order = order
    redis.call('HSET', season_hash, 'state', 'open', 'order', order, 'endsAt', string.format('%.0f', ends), 'payAfterMs', pay_after,
      'keep', keeps, 'prizes', prizes)
    redis.call('ZADD', season_key(scores, 'seasons'), ends, season)
  end
  is_ascending, shown_scores = season_order == 'asc', season_hash .. ':scores'
  local season_players = season_hash .. ':players'
  held, best, is_better = read_best(shown_scores, season_players, is_ascending)
  best, is_changed = keep(shown_scores, season_players, is_ascending, held, best, is_better)
  ends = string.format('%.0f', ends)
end

local rank = rank_of(shown_scores, best, is_ascending)

-- If at least `size` entries are better than the account's entry, the list has not changed: the entry is not in the list now, and it was
-- not in the list before, because a submission never makes an entry worse.
local listeners, counter = 0, nil
local channel = '{board:' .. game .. '}'
if rank <= tonumber(size) then
  if is_changed then
    counter = redis.call('INCR', version)
    -- The message makes other processes drop their cached lists of this board.
    listeners = publish(channel, publisher)
  else
    -- An earlier message about this entry may still be on its way to the other processes, so the caller has to wait in this case too.
    listeners = count_listeners(channel)
  end
end
local current = shown_version(counter or redis.call('GET', version), ends)
local flag, place = is_better and '1' or '0', string.format('%.0f', rank)
if current == known then return answer('done', listeners, flag, place, best, season, ends, current) end
return answer('done', listeners, flag, place, best, season, ends, current, unpack(range(shown_scores, is_ascending, 0, size - 1)))
