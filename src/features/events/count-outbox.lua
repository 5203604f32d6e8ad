-- Tells how many elements an outbox has, and the oldest of them.
-- KEYS outbox
-- ARGV -
-- Answers counted(elements, the oldest or '')
return {'counted', string.format('%d', redis.call('LLEN', outbox)), redis.call('LINDEX', outbox, 0) or ''}
