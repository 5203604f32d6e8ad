-- Ends all sessions of the caller's account, in every process at once: from now on only those of the next generation stand.
-- KEYS -
-- ARGV -
-- Answers signed_out
redis.call('SET', moves, string.format('#%d\n', tonumber(generation) + 1) .. moved_in)
return {'signed_out'}
