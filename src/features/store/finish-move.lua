-- Tells whether none of the guest's scores is left to hand over.
-- KEYS boards
-- ARGV -
-- Answers finished unfinished
return {redis.call('EXISTS', boards) == 1 and 'unfinished' or 'finished'}
