-- Forgets a move whose scores are handed over.
-- KEYS boards, due
-- ARGV move
-- Answers finished unfinished
if redis.call('EXISTS', boards) == 1 then return {'unfinished'} end
redis.call('ZREM', due, move)
return {'finished'}
