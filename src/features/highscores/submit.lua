-- Submits a score: the better one of it and the account's best so far stands, under the name given last.
-- KEYS scores, players, arrivals, account_boards
-- ARGV game, teller, order, size, account_id, player_id, name, score, at, proof_wanted, new_board_barred
-- Answers integrity_failed game_not_found done(processes told, personal best 0|1, rank, best, entry, score …)
--
-- An entry is the text "<place><at><player id><name>", the first three of fixed length. Redis lists equal scores by their
-- text, so <place> is the number of the arrival, and on descending boards, which are read backwards, that number taken
-- from the highest: among equals the earlier is listed first. A board whose order changes in the catalogue is read the
-- other way round from then on. Its ranks are right at once; only among equals, entries of before are listed latest first.
-- `proof_wanted` and `new_board_barred` are '0' or '1'.
local HIGHEST_PLACE = 999999999999
local AT_END, HEAD_END = 21, 33

local ascending = order == 'asc'

if proof_wanted == '1' and redis.call('HEXISTS', account, 'installVerifiedAt') == 0 then return {'integrity_failed'} end

local held = redis.call('HGET', players, account_id)
local best = held and redis.call('ZSCORE', scores, held)
local given, standing = tonumber(score), best and tonumber(best)
local is_better = not best or (ascending and given < standing) or (not ascending and given > standing)
-- A board stays for ever: who opens one pays for it as for an account.
local is_new_board = not held and redis.call('EXISTS', scores) == 0
if is_new_board and new_board_barred == '1' then return {'game_not_found'} end
if is_new_board and creation_barred ~= '' then return {'rate_limited'} end
if not held and not open_account() then return {'rate_limited'} end

-- Every check is behind us: from here on, writes only.
account_created = account_created or is_new_board
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
if not held then redis.call('SADD', account_boards, game) end

-- What other processes show of this board is old now.
local told = redis.call('PUBLISH', 'boards', teller .. ' ' .. game)

local ahead
if ascending then ahead = redis.call('ZCOUNT', scores, '-inf', '(' .. best)
else ahead = redis.call('ZCOUNT', scores, '(' .. best, '+inf') end
local flags = ascending and {'WITHSCORES'} or {'REV', 'WITHSCORES'}
local top = redis.call('ZRANGE', scores, 0, size - 1, unpack(flags))
return answer('done', told, is_better and '1' or '0', string.format('%.0f', ahead + 1), best, unpack(top))
