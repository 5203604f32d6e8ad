-- Replaces open-account.lua in a script that runs in another slot than the caller's account. When the script answers {'rate_limited'}, the
-- service creates the account in the account's own slot, and runs the script again.
-- KEYS -
-- ARGV is_open, creation_barred, proven
-- Library account-events.lua: tell_event
-- Library open-account-apart-functions.lua: account_created, creation_used, open_account, is_proven, list_in_account, answer
-- Answers rate_limited
--
-- `is_open` is '1' once the account exists and its set has the object that the script will write. `creation_barred` means the same as in
-- open-account.lua.
local account = ''
account_created, creation_used, account_is_open, account_is_proven = false, false, is_open == '1', proven == '1'
