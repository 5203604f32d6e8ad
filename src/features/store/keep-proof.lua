-- Records that an account's install was proven genuine, unless the account moved since it requested the nonce.
-- KEYS account, moves
-- ARGV at
-- Answers kept sign_in_required
if redis.call('GETRANGE', moves, 0, 0) == '>' then return {'sign_in_required'} end
redis.call('HSETNX', account, 'createdAt', at)
redis.call('HSET', account, 'installVerifiedAt', at)
return {'kept'}
