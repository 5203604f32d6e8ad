-- Signs in to a store account, and creates the account unless it exists.
-- KEYS account, account_standing
-- ARGV store, now
-- Prologue prologue-check.lua
-- Library standing.lua: standing_of
-- Answers opened(created 0|1, generation) deleted(time) banned(end, 0 without one)
local state, detail, account_generation = standing_of(account_standing)
if state == 'deleted' or state == 'banned' then return {state, detail} end
local created = redis.call('HSETNX', account, 'createdAt', now)
redis.call('HSET', account, 'store', store)
return {'opened', string.format('%.0f', created), account_generation}
