-- The functions of open-account.lua. The functions are in a library, because Redis defines a library only once for a batch of calls. If
-- each call defined them, every coin operation would take half a microsecond longer.
-- Calls create_account() of create-account.lua.
-- `creation_used` is true if the script created something other than the account with the creation that the service reserved, such as a
-- board's first score.
local account_created, creation_used
local function open_account(account, creation_barred)
  if redis.call('EXISTS', account) == 1 then return true end
  if creation_barred ~= '' then return false end
  account_created = create_account(account)
  return true
end
local function is_proven(account) return redis.call('HEXISTS', account, 'installVerifiedAt') == 1 end
-- Adds the id of an object that the script is about to write in another slot to a set of the account. If `kept_seconds` is nil, the set
-- never expires.
local function list_in_account(index, member, kept_seconds)
  redis.call('SADD', index, member)
  if kept_seconds then redis.call('EXPIRE', index, kept_seconds) end
end
local function answer(...)
  local words = {...}
  if account_created then words[1] = '+' .. words[1]
  elseif creation_used then words[1] = '*' .. words[1] end
  return words
end
