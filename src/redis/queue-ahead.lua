-- Puts an entry into a queue. The entry is the member itself, whose time stays if it is earlier, or stands for a change of the member's
-- document that is about to begin.
-- KEYS due
-- ARGV member, entry, due_at
-- Answers queued(the member's time before, or '')
local seen_at = redis.call('ZSCORE', due, member) or ''
if entry == member then redis.call('ZADD', due, 'LT', due_at, entry)
else redis.call('ZADD', due, due_at, entry) end
return {'queued', seen_at}
