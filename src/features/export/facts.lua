-- Reads the fields of the caller's account, its guests and its session generation, for an export.
-- KEYS account
-- ARGV -
-- Prologue prologue-check.lua: moved_in, generation
-- Answers facts(guests that moved in, generation, field, value …)
return {'facts', moved_in, generation, unpack(redis.call('HGETALL', account))}
