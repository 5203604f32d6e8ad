-- Keeps what the app says of its subscription, in place of what it said before.
-- KEYS -
-- ARGV subscribed
-- Answers recorded
if not open_account() then return {'rate_limited'} end
redis.call('HSET', account, 'reportedSubscribed', subscribed, 'reportedAt', now)
return answer('recorded')
