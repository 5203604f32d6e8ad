-- Removes a move from the queue once none of the guest's scores is left to hand over.
-- KEYS boards, due
-- ARGV move
-- Answers finished unfinished
if redis.call('EXISTS', boards) == 1 then return {'unfinished'} end
redis.call('ZREM', due, move)
return {'finished'}
