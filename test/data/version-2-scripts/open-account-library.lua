-- The functions of prologue-open.lua. Redis defines them once a batch: as closures of each call they would cost every coin
-- operation half a microsecond.
local account_created
local function open_account(account, creation_barred)
  if redis.call('EXISTS', account) == 1 then return true end
  if creation_barred ~= '' then return false end
  redis.call('HSET', account, 'createdAt', now)
  account_created = true
  return true
end
local function answer(...)
  local words = {...}
  if account_created then words[1] = '+' .. words[1] end
  return words
end
