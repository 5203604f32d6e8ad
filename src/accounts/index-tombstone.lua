-- Adds a deleted account to the index of tombstones. If it is already there, its time stays.
-- KEYS tombstones
-- ARGV account_id, at
-- Answers indexed
redis.call('ZADD', tombstones, 'NX', at, account_id)
return {'indexed'}
