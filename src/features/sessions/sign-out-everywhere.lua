-- Ends all sessions of the caller's account, for every process at once: new sessions belong to the next generation.
-- KEYS -
-- ARGV -
-- Prologue prologue-check.lua: moves, moved_in, generation
-- Answers signed_out
redis.call('SET', moves, string.format('#%d\n', tonumber(generation) + 1) .. moved_in)
-- Every process subscribes to `moves` and takes the caller from the sessions' room connections.
announce('moves', string.match(moves, '^{(.-)}'))
return {'signed_out'}
