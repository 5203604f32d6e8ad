-- Writes a deleted account into the index of tombstones. A time that it has there stays.
-- KEYS tombstones
-- ARGV account_id, at
-- Answers indexed
redis.call('ZADD', tombstones, 'NX', at, account_id)
return {'indexed'}
