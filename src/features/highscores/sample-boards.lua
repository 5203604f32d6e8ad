-- Reads the number of boards with an entry of the account, and some of their games.
-- KEYS boards
-- ARGV most
-- Answers boards(count, game …)
return {'boards', string.format('%d', redis.call('SCARD', boards)), unpack(redis.call('SRANDMEMBER', boards, most))}
