-- Removes a purchase that an operator gave to another account from the list of an account.
-- KEYS standing, listed
-- ARGV purchase
-- Library standing.lua: standing_of
-- Answers unlisted moving moved(account that it moved into) deleted(time)
redis.call('ZREM', listed, purchase)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {'unlisted'}
