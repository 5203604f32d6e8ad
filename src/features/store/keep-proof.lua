-- Records that an account's install was proven genuine, unless the account moved since it requested the nonce, or is moving.
-- KEYS account, moves
-- ARGV at
-- Answers kept sign_in_required moving
local first = redis.call('GETRANGE', moves, 0, 0)
if first == '>' then return {'sign_in_required'} end
if first == '~' then return {'moving'} end
redis.call('HSETNX', account, 'createdAt', at)
redis.call('HSET', account, 'installVerifiedAt', at)
return {'kept'}
