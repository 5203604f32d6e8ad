-- Tells whether the account that owns a purchase is a guest or a store account.
-- KEYS account, standing
-- ARGV -
-- Library standing.lua: standing_of
-- Answers guest store_account moved(account that it moved into) moving deleted(time)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {redis.call('HEXISTS', account, 'store') == 1 and 'store_account' or 'guest'}
