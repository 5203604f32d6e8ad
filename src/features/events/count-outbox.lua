-- Tells how many elements an outbox has, and the time of the oldest of them.
-- KEYS outbox
-- ARGV -
-- Answers counted(elements, microseconds since 1970 of the oldest, or '')
return {'counted', string.format('%d', redis.call('LLEN', outbox)), string.match(redis.call('LINDEX', outbox, 0) or '', '^%d*')}
