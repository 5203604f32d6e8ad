-- Submits a score. The board keeps the account's best score, under the name given last.
-- KEYS scores, players, arrivals, version, account_boards
-- ARGV game, order, known, account_id, player_id, name, score, at, new_board_barred
-- Shared publisher, size, proof_wanted
-- Prologue prologue-open.lua: account, creation_barred, open_account, creation_used, is_proven, list_in_account, answer
-- Answers integrity_failed game_not_found done(processes that listen, personal best 0|1, rank, best, version, entry, score …)
--
-- An entry is the text "<place><at><player id><name>"; the first three have fixed lengths of 12, 9 and 12 characters. Redis
-- orders equal scores by their text, so <place> lists the earlier of two equal scores first: it is the number of the arrival,
-- or HIGHEST_PLACE minus that number on descending boards, which are read in reverse.
-- When the catalogue changes a game's order, its board is read in the other direction from then on. The ranks are right at
-- once, but among equal scores the entries from before the change are listed latest first.
--
-- `version` changes exactly when the first `size` entries may have changed: here, and in move-entry.lua. A board that has no
-- version yet has version 0. If the version is still `known`, the caller has the entries, and the answer ends after `best`.
--
-- `proof_wanted` requires that the account's install was proven genuine, `new_board_barred` refuses the first score of a board:
-- each is '0' or '1'.
local HIGHEST_PLACE = 999999999999
local AT_END, HEAD_END = 21, 33

local ascending = order == 'asc'

if proof_wanted == '1' and not is_proven(account) then return {'integrity_failed'} end

local held = redis.call('HGET', players, account_id)
local best = held and redis.call('ZSCORE', scores, held)
local given, standing = tonumber(score), best and tonumber(best)
local is_better = not best or (ascending and given < standing) or (not ascending and given > standing)
-- The service never deletes a board, so a board's first score counts as a creation, like an account.
local is_new_board = not held and redis.call('EXISTS', scores) == 0
if is_new_board and new_board_barred == '1' then return {'game_not_found'} end
if is_new_board and creation_barred ~= '' then return {'rate_limited'} end
if not held and not open_account(account, creation_barred) then return {'rate_limited'} end

-- Nothing below refuses.
creation_used = is_new_board
local head = held and string.sub(held, 1, HEAD_END)
if is_better then
  local arrival = redis.call('INCR', arrivals)
  local place = string.format('%012.0f', ascending and arrival or HIGHEST_PLACE - arrival)
  head = place .. at .. (held and string.sub(held, AT_END + 1, HEAD_END) or player_id)
  best = score
end
local entry = head .. name
if entry ~= held then
  if held then redis.call('ZREM', scores, held) end
  redis.call('ZADD', scores, best, entry)
  redis.call('HSET', players, account_id, entry)
end
if not held then list_in_account(account_boards, game) end

local ahead
if ascending then ahead = redis.call('ZCOUNT', scores, '-inf', '(' .. best)
else ahead = redis.call('ZCOUNT', scores, '(' .. best, '+inf') end

-- An entry with `size` better ones ahead is not listed, and was not listed before: a submission never makes an entry worse.
local listeners, current = 0, nil
local channel = '{board:' .. game .. '}'
if ahead < tonumber(size) then
  if entry ~= held then
    current = string.format('%.0f', redis.call('INCR', version))
    -- Other processes drop their cached copies of this board.
    listeners = publish(channel, publisher)
  else
    -- The message about this entry may still be on its way to the other processes.
    listeners = count_listeners(channel)
  end
end
current = current or redis.call('GET', version) or '0'
local flag, rank = is_better and '1' or '0', string.format('%.0f', ahead + 1)
if current == known then return answer('done', listeners, flag, rank, best) end

local flags = ascending and {'WITHSCORES'} or {'REV', 'WITHSCORES'}
local top = redis.call('ZRANGE', scores, 0, size - 1, unpack(flags))
return answer('done', listeners, flag, rank, best, current, unpack(top))
