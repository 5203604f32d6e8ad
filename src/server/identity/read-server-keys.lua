-- Reads all server keys: ids and records in turn.
-- KEYS records
-- ARGV -
-- Answers keys(id, record …)
return {'keys', unpack(redis.call('HGETALL', records))}
