-- Reads a part of the players of a board, including those that a ban hides.
-- KEYS players
-- ARGV cursor (of HSCAN, 0 at first), count
-- Answers part(next cursor, player id, text …)
local part = redis.call('HSCAN', players, cursor, 'COUNT', count)
return {'part', part[1], unpack(part[2])}
