-- Records the app's report about its subscription, in place of its previous report.
-- KEYS -
-- ARGV subscribed
-- Prologue prologue-open.lua: account, open_account, answer, tell_event
-- Answers recorded
if not open_account(account, creation_barred) then return {'rate_limited'} end
if redis.call('HGET', account, 'reportedSubscribed') ~= subscribed then
  tell_event(string.match(account, '^{(.-)}'), 's', subscribed == '1' and 'active -' or 'none -')
end
redis.call('HSET', account, 'reportedSubscribed', subscribed, 'reportedAt', now)
return answer('recorded')
