-- Records that an install of an account was proven genuine. The account may have moved, or may have been banned or deleted, since it
-- requested the nonce; then nothing is recorded.
-- KEYS account, standing
-- ARGV at
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Answers kept sign_in_required account_deleted account_banned(end, 0 without one) moving
local state, detail = standing_of(standing)
if state == 'moved' then return {'sign_in_required'} end
if state == 'moving' then return {'moving'} end
if state == 'deleted' then return {'account_deleted'} end
if state == 'banned' then return {'account_banned', detail} end
if redis.call('HSETNX', account, 'createdAt', at) == 1 then tell_event(string.match(account, '^{(.-)}'), 'n', '') end
redis.call('HSET', account, 'installVerifiedAt', at)
return {'kept'}
