-- Adds a game to an account's set of boards, or removes the game. A game is not added to the set of a deleted account.
-- KEYS boards, standing
-- ARGV game, is_named
-- Library standing.lua: standing_of
-- Answers named account_deleted
if is_named == '1' and standing_of(standing) == 'deleted' then return {'account_deleted'} end
redis.call(is_named == '1' and 'SADD' or 'SREM', boards, game)
return {'named'}
