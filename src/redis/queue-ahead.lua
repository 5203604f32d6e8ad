-- Puts an entry into a queue.
-- KEYS due
-- ARGV entry, due_at, keeps_earlier (1: an entry that is due earlier stays so)
-- Answers queued
if keeps_earlier == '1' then redis.call('ZADD', due, 'LT', due_at, entry)
else redis.call('ZADD', due, due_at, entry) end
return {'queued'}
