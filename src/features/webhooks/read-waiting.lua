-- Reads the waiting events of a hook, by account: each account is followed by the text of its events.
-- KEYS waiting
-- ARGV -
-- Answers waiting(account, events …)
local words = redis.call('HGETALL', waiting)
table.insert(words, 1, 'waiting')
return words
