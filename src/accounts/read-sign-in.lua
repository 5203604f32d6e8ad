-- Reads whether a sign-in has ended, and the standing of the account that it opens if nobody added it to another account.
-- KEYS standing, ended
-- ARGV -
-- Library standing.lua: standing_of
-- Answers ended open banned(end, 0 without one) moving moved(account that it moved into) deleted(time)
if redis.call('EXISTS', ended) == 1 then return {'ended'} end
local state, detail = standing_of(standing)
return {state, detail}
