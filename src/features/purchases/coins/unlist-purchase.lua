-- Removes a purchase from an account's list, because an operator has given the purchase to another account.
-- KEYS standing, listed
-- ARGV purchase
-- Library standing.lua: standing_of
-- Answers unlisted moving moved(account that it moved into) deleted(time)
redis.call('ZREM', listed, purchase)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {'unlisted'}
