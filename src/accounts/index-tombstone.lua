-- Adds a deleted account to the index of tombstones. If the account is in the index already, its time of deletion stays.
-- KEYS tombstones
-- ARGV account_id, at
-- Answers indexed
redis.call('ZADD', tombstones, 'NX', at, account_id)
return {'indexed'}
