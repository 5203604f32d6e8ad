-- Creates the caller's account if it does not exist yet, and answers with the generation to which a new session belongs.
-- KEYS -
-- ARGV -
-- Prologue prologue-open.lua: open_account, account_created, answer, generation
-- Answers created(generation) found(generation)
if not open_account(account, creation_barred) then return {'rate_limited'} end
return answer(account_created and 'created' or 'found', generation)
