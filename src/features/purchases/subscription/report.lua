-- Records the app's report about its subscription, in place of its previous report.
-- KEYS -
-- ARGV subscribed
-- Prologue open-account.lua: account, open_account, answer, tell_event
-- Answers recorded
local REPORT_LIFE_MS = 72 * 3600000 -- as in model.ts
if not open_account(account, creation_barred) then return {'rate_limited'} end
if emits then
  -- A report counts for REPORT_LIFE_MS, but it never counts if the account has a purchase that the app store confirmed. The event is
  -- emitted only if the report changes the subscription.
  local purchases, reported, at = unpack(redis.call('HMGET', account, 'purchases', 'reportedSubscribed', 'reportedAt'))
  local was_subscribed = reported == '1' and tonumber(now) < at + REPORT_LIFE_MS
  if (purchases or '') == '' and was_subscribed ~= (subscribed == '1') then
    tell_event(string.match(account, '^{(.-)}'), 's', string.format('<told: state, ends>', subscribed == '1' and 'active' or 'none', '-'))
  end
end
redis.call('HSET', account, 'reportedSubscribed', subscribed, 'reportedAt', now)
return answer('recorded')
