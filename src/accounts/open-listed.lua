-- Creates the caller's account for a script that runs in another slot, and adds the object that the script will write to a set of the
-- account.
-- KEYS index
-- ARGV member (or ''), kept_seconds (or '': for ever)
-- Prologue prologue-open.lua: account, open_account, list_in_account, answer
-- Answers created found
if not open_account(account, creation_barred) then return {'rate_limited'} end
if member ~= '' then list_in_account(index, member, kept_seconds ~= '' and kept_seconds or nil) end
return answer(account_created and 'created' or 'found')
