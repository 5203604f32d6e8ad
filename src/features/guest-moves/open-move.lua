-- Opens a move at the account: only an open move can be accepted.
-- KEYS record
-- ARGV guest_id, kept_seconds
-- Answers opened
--
-- `record` is a string: "open <guest id>", then "accepted <guest id> <created 0|1> <coins> <generation> <balance after>" or "refused <guest id> <reason>".
-- Only the request that begins the move opens it, once, before the guest is frozen. A move without a record is void, and the account cannot
-- accept it any more. So a move that was refused, or that nobody finished in time, can be taken back safely, and stays taken back.
-- The record is first kept for the time that the freeze may take; copy-guest-ledger.lua then keeps it for longer.
redis.call('SET', record, 'open ' .. guest_id, 'EX', kept_seconds, 'NX')
return {'opened'}
