-- Replaces prologue-check.lua in a script that an operator runs. This prologue refuses no account, so that operators can read a banned or
-- moving account.
-- KEYS standing, signed_out
-- ARGV -
-- Library standing.lua: standing_of
-- Answers -
local _state, _detail, generation, moved_in = standing_of(standing)
