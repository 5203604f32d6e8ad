-- Signs in to a store account, and creates the account unless it exists.
-- KEYS account, account_moves
-- ARGV store, now
-- Prologue prologue-check.lua
-- Answers opened(created 0|1, generation) deleted banned(end, 0 without one)
local record = redis.call('GETRANGE', account_moves, 0, 20)
local first = string.sub(record, 1, 1)
if first == '=' then return {'deleted'} end
if first == '!' then
  local ban_end, before = string.match(redis.call('GET', account_moves), '^!(%d+)[^\n]*\n(.*)$')
  if ban_end == '0' or tonumber(now) < tonumber(ban_end) then return {'banned', ban_end} end
  record = before
end
local created = redis.call('HSETNX', account, 'createdAt', now)
redis.call('HSET', account, 'store', store)
return {'opened', string.format('%.0f', created), string.match(record, '^#(%d+)\n') or '0'}
