-- The log of events, for its scripts. model.ts describes its keys. Defines CHUNK_LENGTH, chunk_key() and position_text().
local CHUNK_LENGTH = 1000 -- as in model.ts

-- '{events}:chunk:7' for '{events}:state'
local function chunk_key(state, chunk) return string.sub(state, 1, -6) .. 'chunk:' .. string.format('%d', chunk) end

-- `tostring` loses digits of a large number.
local function position_text(position) return string.format('%d', position) end
