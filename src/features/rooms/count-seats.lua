-- Counts the rooms in which an account has taken a seat.
-- KEYS seats
-- ARGV -
-- Answers count(number)
return {'count', string.format('%d', redis.call('SCARD', seats))}
