-- Checks whether an idempotency key was used for an operation, in the ledger of an account or of a guest that moved into it. The script
-- also runs for a banned, moved or deleted account.
-- KEYS ledger
-- ARGV operation, key, key_hash
-- Shared secret
-- Prologue check-caller.lua: moved_in
-- Library standing.lua
-- Library ledger.lua: is_data_of, tail, used_for
-- Answers used reused free other_data
--
-- `operation` is the letter of the entry's type and the signed coins: "d-30".

if not is_data_of(secret) then return {'other_data'} end

local entries = tail(ledger)
local used, _, is_reused = used_for((string.gsub(operation, '%-', '%%-')), ledger, entries, key, key_hash, moved_in)
if used then return {'used'} end
return {is_reused and 'reused' or 'free'}
