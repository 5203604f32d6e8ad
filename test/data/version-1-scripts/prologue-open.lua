-- Lets a script create the caller's account at its first write. A script calls `open_account()` before it writes, and answers
-- {'rate_limited'} if that returns false. It returns `answer(word, …)` instead of {word, …} for anything it wrote.
-- KEYS account
-- ARGV now, creation_barred
-- Answers rate_limited
--
-- `creation_barred` is '1' if a creation has to be reserved for the caller's address first. The plus before the word tells the
-- service that the script used the reserved creation. Without it, the first requests of one install, sent at the same time,
-- would count as several accounts.
local account_created = false
local function open_account()
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
