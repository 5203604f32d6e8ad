-- Adds a purchase to the list of an account. Creates the account if it does not exist yet, just as the ledger entry of the purchase does.
-- KEYS account, standing, listed
-- ARGV purchase, at
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Library create-account.lua: create_account
-- Answers listed(created 0|1) moving moved(account that it moved into) deleted(time)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
if redis.call('ZADD', listed, 'NX', at, purchase) == 0 then return {'listed', '0'} end
return {'listed', create_account(account) and '1' or '0'}
