-- Reads the ends of an account's ledger, whatever the standing of the account.
-- KEYS ledger
-- ARGV -
-- Answers ends(newest entry or '', oldest entry or '', entries)
return {'ends', redis.call('LINDEX', ledger, -1) or '', redis.call('LINDEX', ledger, 0) or '', string.format('%d', redis.call('LLEN', ledger))}
