-- Takes the place of prologue-check.lua in a script that an operator runs: refuses no account, so that an operator can look at one that
-- is banned or moving.
-- KEYS standing, signed_out
-- ARGV -
-- Library standing.lua: standing_of
-- Answers -
local _, _, generation, moved_in = standing_of(standing)
