-- Reads the caller's account.
-- KEYS account
-- ARGV -
-- Prologue prologue-check.lua: moved_in, generation
-- Answers facts(guests that moved in, generation, field, value …)
return {'facts', moved_in, generation, unpack(redis.call('HGETALL', account))}
