-- Adds a game to an account's set of boards, or removes it. The set of a deleted account gets no game.
-- KEYS boards, moves
-- ARGV game, is_named
-- Answers named account_deleted
if is_named == '1' and redis.call('GETRANGE', moves, 0, 0) == '=' then return {'account_deleted'} end
redis.call(is_named == '1' and 'SADD' or 'SREM', boards, game)
return {'named'}
