-- Keeps with an account that its install was proven genuine; of an account that moved it tells where to.
-- KEYS account, moves
-- ARGV at
-- Answers kept moved(account id)
local note = redis.call('GET', moves)
if note and string.sub(note, 1, 1) == '>' then return {'moved', string.sub(note, 2)} end
redis.call('HSETNX', account, 'createdAt', at)
redis.call('HSET', account, 'installVerifiedAt', at)
return {'kept'}
