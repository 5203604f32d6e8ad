-- Records that an install of an account was proven genuine. If the account has moved, or was banned or deleted, since it requested the
-- nonce, nothing is recorded.
-- KEYS account, standing
-- ARGV -
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Library create-account.lua: create_account
-- Answers kept sign_in_required account_deleted account_banned(end, 0 without one) moving
local state, detail = standing_of(standing)
if state == 'moved' then return {'sign_in_required'} end
if state == 'moving' then return {'moving'} end
if state == 'deleted' then return {'account_deleted'} end
if state == 'banned' then return {'account_banned', detail} end
create_account(account)
redis.call('HSET', account, 'installVerifiedAt', now)
return {'kept'}
