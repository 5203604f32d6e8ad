-- Tells the process that relays which outboxes have news.
-- KEYS state
-- ARGV tags (of the outboxes, separated by blanks)
-- Answers told
announce('outboxes', tags)
return {'told'}
