-- Replaces check-caller.lua for a caller who is not checked. This prologue refuses no account, so that operators can read a banned or
-- moving account.
-- KEYS standing, signed_out
-- ARGV -
-- Library standing.lua: standing_of
-- Answers -
local _state, _detail, generation, moved_in = standing_of(standing)
