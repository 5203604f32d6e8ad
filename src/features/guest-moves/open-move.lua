-- Opens a move in the slot of the account that a guest will move into. Only an open move can be accepted.
-- KEYS record
-- ARGV guest_id, kept_seconds
-- Answers opened
--
-- `record` is a string: "open <guest id>", then "accepted <guest id> <created 0|1> <coins> <generation> <balance after>" or "refused <guest id> <reason>".
-- Only the request that begins the move opens it, and only once, before the guest is frozen. A move without a record is void, and the
-- account cannot accept it any more. So a move that was refused, or was not finished in time, can be taken back safely: the account cannot
-- accept it later.
-- The record first expires after the time that the freeze may take. copy-guest-ledger.lua then lengthens its life.
redis.call('SET', record, 'open ' .. guest_id, 'EX', kept_seconds, 'NX')
return {'opened'}
