-- Counts the entries of a queue.
-- KEYS due
-- ARGV -
-- Answers size(entries)
return {'size', string.format('%d', redis.call('ZCARD', due))}
