-- Opens the caller's account if there is none yet, and tells which generation its sessions belong to.
-- KEYS -
-- ARGV -
-- Answers created(generation) found(generation)
if not open_account() then return {'rate_limited'} end
return {account_created and 'created' or 'found', generation}
