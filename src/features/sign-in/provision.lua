-- Signs in to the account of a sign-in (a provider and its user), and creates the account unless it exists.
-- KEYS account, account_standing
-- ARGV store
-- Prologue check-caller.lua
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Library create-account.lua: create_account
-- Answers opened(created 0|1, generation) deleted(time) banned(end, 0 without one) moving moved(account that it moved into)
local state, detail, account_generation = standing_of(account_standing)
if state ~= 'open' then return {state, detail} end
local created = create_account(account)
-- HSETNX, because the account may have begun with another sign-in, and got this one later.
redis.call('HSETNX', account, 'store', store)
return {'opened', created and '1' or '0', account_generation}
