-- Reads how many boards an account has an entry on, and some of their games.
-- KEYS boards
-- ARGV most
-- Answers boards(count, game …)
return {'boards', string.format('%d', redis.call('SCARD', boards)), unpack(redis.call('SRANDMEMBER', boards, most))}
