-- Creates the caller's account if it is new, and answers with the generation that a new session belongs to.
-- KEYS -
-- ARGV -
-- Answers created(generation) found(generation)
if not open_account() then return {'rate_limited'} end
return {account_created and 'created' or 'found', generation}
