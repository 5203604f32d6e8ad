-- Checks whether a key was used for an operation in an account, in its ledger or in the ledgers of its guests, whatever the standing of the
-- account.
-- KEYS ledger
-- ARGV operation, key, key_hash
-- Shared secret
-- Prologue prologue-check.lua: moved_in
-- Library standing.lua
-- Library ledger.lua: is_data_of, tail, used_for
-- Answers used reused free other_data
--
-- `operation` is the type's letter and the signed coins: "d-30".

if not is_data_of(secret) then return {'other_data'} end

local entries = tail(ledger)
local used, _, is_reused = used_for((string.gsub(operation, '%-', '%%-')), ledger, entries, key, key_hash, moved_in)
if used then return {'used'} end
return {is_reused and 'reused' or 'free'}
