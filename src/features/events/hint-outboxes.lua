-- Tells the relay which outboxes have new events.
-- KEYS state
-- ARGV tags (of the outboxes, separated by blanks)
-- Answers told
announce('outboxes', tags)
return {'told'}
