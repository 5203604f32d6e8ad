-- Reads a room with all that is kept about its seats.
-- KEYS room, leases
-- ARGV -
-- Answers room(connections, field, value …)
return {'room', string.format('%d', redis.call('ZCARD', leases)), unpack(redis.call('HGETALL', room))}
