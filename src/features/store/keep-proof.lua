-- Records that an account's install was proven genuine, unless the account is not open any more since it requested the nonce.
-- KEYS account, moves
-- ARGV at
-- Answers kept sign_in_required account_deleted account_banned(end, 0 without one) moving
local first = redis.call('GETRANGE', moves, 0, 0)
if first == '>' then return {'sign_in_required'} end
if first == '~' then return {'moving'} end
if first == '=' then return {'account_deleted'} end
if first == '!' then
  local ban_end = string.match(redis.call('GET', moves), '^!(%d+)')
  if ban_end == '0' or tonumber(now) < tonumber(ban_end) then return {'account_banned', ban_end} end
end
redis.call('HSETNX', account, 'createdAt', at)
redis.call('HSET', account, 'installVerifiedAt', at)
return {'kept'}
