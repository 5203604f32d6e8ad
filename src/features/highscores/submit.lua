-- Submits a score. The board keeps the account's best score, under the name given last.
-- KEYS scores, players, arrivals, version, secret, account_boards
-- ARGV game, order, known, account_id, name, score, new_board_barred
-- Shared publisher, seed, size, proof_wanted
-- Prologue prologue-open.lua: account, creation_barred, open_account, creation_used, is_proven, list_in_account, answer
-- Library board.lua: make_player_id, next_place, entry_of_account, put, hidden_score, show, rank_of, range
-- Answers integrity_failed game_not_found done(processes that listen, personal best 0|1, rank, best, version, member, score …)
--
-- `version` changes exactly when the first `size` entries may have changed: here, and where an entry leaves the board or changes hands. A
-- board that has no version yet has version 0. If the version is still `known`, the caller has the entries, and the answer ends after
-- `best`.
--
-- `proof_wanted` requires that the account's install was proven genuine, `new_board_barred` refuses the first score of a board:
-- each is '0' or '1'.
local is_ascending = order == 'asc'

if proof_wanted == '1' and not is_proven(account) then return {'integrity_failed'} end

local held, player_id, is_taken = entry_of_account(secret, players, account_id)
if is_taken then error('ERR two accounts have the player id ' .. player_id .. ' in ' .. players, 0) end
-- An operator may have deleted a board's scores: then `players` still has entries that `scores` no longer holds. A ban may have ended a
-- moment ago: then its journal has not shown the entry yet (`Bans`).
local best = held and redis.call('ZSCORE', scores, held.member)
local hidden = held and not best and hidden_score(players, held)
best = best or hidden
local given, standing = tonumber(score), best and tonumber(best)
local is_better = not best or (is_ascending and given < standing) or (not is_ascending and given > standing)
-- The service never deletes a board, so a board's first score counts as a creation, like an account.
local is_new_board = not held and redis.call('EXISTS', scores) == 0
if is_new_board and new_board_barred == '1' then return {'game_not_found'} end
if is_new_board and creation_barred ~= '' then return {'rate_limited'} end
if not held and not open_account(account, creation_barred) then return {'rate_limited'} end

-- Nothing below refuses.
creation_used = is_new_board
player_id = player_id or make_player_id(secret, seed, account_id)
if hidden then show(scores, players, held, hidden) end
local is_changed = is_better or hidden or held.name ~= name
if is_changed then
  if held then redis.call('ZREM', scores, held.member) end
  local place = is_better and next_place(arrivals, is_ascending) or held.place
  if is_better then best = score end
  put(scores, players, account_id, player_id, place, name, best)
end
if not held then list_in_account(account_boards, game) end

local rank = rank_of(scores, best, is_ascending)

-- An entry with `size` better ones ahead is not listed, and was not listed before: a submission never makes an entry worse.
local listeners, current = 0, nil
local channel = '{board:' .. game .. '}'
if rank <= tonumber(size) then
  if is_changed then
    current = string.format('%.0f', redis.call('INCR', version))
    -- Other processes drop their cached copies of this board.
    listeners = publish(channel, publisher)
  else
    -- The message about this entry may still be on its way to the other processes.
    listeners = count_listeners(channel)
  end
end
current = current or redis.call('GET', version) or '0'
local flag, place = is_better and '1' or '0', string.format('%.0f', rank)
if current == known then return answer('done', listeners, flag, place, best) end
return answer('done', listeners, flag, place, best, current, unpack(range(scores, is_ascending, 0, size - 1)))
