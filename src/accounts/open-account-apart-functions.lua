-- The functions of open-account-functions.lua for a script in another slot than the account. These functions do not write: if the script
-- needs an account, the service creates the account before the script runs.
local account_created, creation_used, account_is_open, account_is_proven
local function open_account() return account_is_open end
local function is_proven() return account_is_proven end
local function list_in_account() end
local function answer(...)
  local words = {...}
  if creation_used then words[1] = '*' .. words[1] end
  return words
end
