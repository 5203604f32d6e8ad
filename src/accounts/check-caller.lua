-- Checks whether the caller may act for the account. The prologue does the check.
-- KEYS -
-- ARGV -
-- Prologue prologue-check.lua
-- Answers signed_in
return {'signed_in'}
