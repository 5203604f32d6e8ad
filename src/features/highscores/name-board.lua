-- Adds a game to an account's set of boards, or removes it.
-- KEYS boards
-- ARGV game, is_named
-- Answers named
redis.call(is_named == '1' and 'SADD' or 'SREM', boards, game)
return {'named'}
