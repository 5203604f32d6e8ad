-- Signs in to the account of an app store's user, and creates the account unless it exists.
-- KEYS account, account_standing
-- ARGV store, now
-- Prologue prologue-check.lua
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Answers opened(created 0|1, generation) deleted(time) banned(end, 0 without one)
local state, detail, account_generation = standing_of(account_standing)
if state == 'deleted' or state == 'banned' then return {state, detail} end
local created = redis.call('HSETNX', account, 'createdAt', now)
redis.call('HSET', account, 'store', store)
if created == 1 then tell_event(string.match(account, '^{(.-)}'), 'n', '') end
return {'opened', string.format('%.0f', created), account_generation}
