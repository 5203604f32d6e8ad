-- Reads the events of a hook that wait for their next attempt: accounts and their events in turn.
-- KEYS waiting
-- ARGV -
-- Answers waiting(account, events …)
local words = redis.call('HGETALL', waiting)
table.insert(words, 1, 'waiting')
return words
