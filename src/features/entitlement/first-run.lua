-- Records the time of the app's first run. Later calls change nothing.
-- KEYS -
-- ARGV -
-- Prologue open-account.lua: account, open_account, answer
-- Answers first_run(at)
local known = redis.call('HGET', account, 'firstRunAt')
if known then return {'first_run', known} end
if not open_account(account, creation_barred) then return {'rate_limited'} end
redis.call('HSET', account, 'firstRunAt', now)
return answer('first_run', now)
