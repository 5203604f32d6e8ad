-- Ends all sessions of the caller's account, for every process at once: new sessions belong to the next generation.
-- KEYS -
-- ARGV -
-- Prologue prologue-check.lua: moves, moved_in, generation
-- Answers signed_out
redis.call('SET', moves, string.format('#%d\n', tonumber(generation) + 1) .. moved_in)
return {'signed_out'}
