-- Lists the archives of a board.
-- KEYS archives
-- ARGV -
-- Answers archives(number, archive …)
return {'archives', unpack(redis.call('HGETALL', archives))}
