-- Functions for scripts that read or change the log of events. model.ts describes its keys. Defines CHUNK_LENGTH, chunk_key() and
-- position_text().
local CHUNK_LENGTH = 1000 -- as in model.ts

-- Returns the Redis key of a chunk: '{events}:chunk:7' for '{events}:state' and 7.
local function chunk_key(state, chunk) return string.sub(state, 1, -6) .. 'chunk:' .. string.format('%d', chunk) end

-- Formats a position. `tostring` loses digits of a large number.
local function position_text(position) return string.format('%d', position) end
