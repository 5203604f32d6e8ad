-- Signs in to a store account, and creates the account unless it exists.
-- KEYS account, account_moves
-- ARGV store, now
-- Prologue prologue-check.lua
-- Answers opened(created 0|1, generation)
local created = redis.call('HSETNX', account, 'createdAt', now)
redis.call('HSET', account, 'store', store)
local record = redis.call('GETRANGE', account_moves, 0, 20)
return {'opened', string.format('%.0f', created), string.match(record, '^#(%d+)\n') or '0'}
