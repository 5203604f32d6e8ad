-- Opens the caller's account if there is none yet.
-- KEYS -
-- ARGV -
-- Answers created found
if not open_account() then return {'rate_limited'} end
return {account_created and 'created' or 'found'}
