-- Hands a guest's entry on one board over to the account that the guest moved into. If the account has an entry too, the
-- better of the two stays; if the scores are equal, the earlier.
-- KEYS scores, players, version, removed
-- ARGV game, order, guest_id, account_id
-- Answers moved
--
-- The account keeps its own player id on the board, if it has one. Its set of boards names the board already (`moveScores`). The guest's
-- set forgets the board next, so `removed` need not explain to the audit why the guest has no entry.
local PLACE_END, AT_END, HEAD_END = 12, 21, 33 -- layout of an entry: submit.lua

local brought = redis.call('HGET', players, guest_id)
-- An operator may have deleted a board's scores. Then `players` still names entries that `scores` no longer holds.
local best, entry = brought and redis.call('ZSCORE', scores, brought), brought
if best then
  local held = redis.call('HGET', players, account_id)
  local standing = held and redis.call('ZSCORE', scores, held)
  if standing then
    local ahead = tonumber(best) - tonumber(standing)
    if order == 'asc' then ahead = -ahead end
    local is_earlier = string.sub(brought, PLACE_END + 1, AT_END) < string.sub(held, PLACE_END + 1, AT_END)
    if ahead > 0 or (ahead == 0 and is_earlier) then
      entry = string.sub(brought, 1, AT_END) .. string.sub(held, AT_END + 1, HEAD_END) .. string.sub(brought, HEAD_END + 1)
    else
      best, entry = standing, held
    end
    redis.call('ZREM', scores, held)
  end
  redis.call('ZREM', scores, brought)
  redis.call('ZADD', scores, best, entry)
  redis.call('HSET', players, account_id, entry)
  redis.call('INCR', version)
  -- Every process drops its cached copy of this board: no process has the publisher -.
  publish('{board:' .. game .. '}', '-')
end
redis.call('HDEL', players, guest_id)
redis.call('SREM', removed, guest_id)
return {'moved'}
