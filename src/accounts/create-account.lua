-- Creates an account. Gives create_account(), which calls tell_event() of account-events.lua.

-- Creates the account unless it exists, and emits `account.created`. Returns whether the account is new. Every account begins here, at a
-- first write, a sign-in, a booking, a purchase or a proof of its install, so that no account misses the event.
local function create_account(account)
  if redis.call('HSETNX', account, 'createdAt', now) == 0 then return false end
  count_today('new', 1)
  tell_event(string.match(account, '^{(.-)}'), 'n', '')
  return true
end
