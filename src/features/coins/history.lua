-- Reads a page of the history: entries of the account's own ledger and of the guests that moved into it, newest first.
-- KEYS ledger
-- ARGV cursor, limit
-- Prologue prologue-check.lua: moved_in
-- Answers page(next cursor, entry …)
-- Library ledger.lua: guest_ledger, unfiled_guests
--
-- A cursor "<own>[.<guest>…][~<filed>~<guests>]" says where the next page goes on in each source of entries:
-- - own, guest: the page goes on before this seq of the account's own ledger, and of each guest's ledger that is not filed
--   (store/move/accept.lua).
-- - filed: the page goes on after this member of the set of filed entries.
-- - guests: the number of guests at the first page. A guest that moved in later shows on none of the pages.
--
-- The number of the guest stands before each entry of a guest.

local sources = {}
local function add(of_ledger, entries, mark) sources[#sources + 1] = {ledger = of_ledger, entries = entries, mark = mark, chunk = {}} end

local last = redis.call('LINDEX', ledger, -1)
add(ledger, last and tonumber(string.match(last, '^%d+')) or 0, '')
local unfiled = unfiled_guests(moved_in)
for _, guest in ipairs(unfiled) do add(guest_ledger(ledger, guest.id), guest.entries, guest.number .. '.') end

local places, filed_after, guest_count = string.match(cursor, '^([%d.]*)~?(%d*)~?(%d*)$')
local given = {}
for before in string.gmatch(places, '%d+') do given[#given + 1] = tonumber(before) end
for number, source in ipairs(sources) do
  -- The seq of the entry that comes next.
  source.next = cursor == '' and source.entries or math.min((given[number] or 1) - 1, source.entries)
end

-- Entries to read at a time. From a single ledger: the page, and one entry more, which tells whether another page follows.
-- From each of many ledgers: few, because most of them have nothing on this page.
local chunk_length = math.max(1, math.floor((tonumber(limit) + 1) / #sources))

-- Puts the next entry of a source into `head`, and its time into `at`. Retention may have deleted the oldest entries of the
-- ledger, so an index counts from its newest entry, whose seq is known.
local function advance(source)
  if #source.chunk == 0 and source.next > 0 then
    local stop = source.next - source.entries - 1
    source.chunk = redis.call('LRANGE', source.ledger, stop - chunk_length + 1, stop)
  end
  source.head = table.remove(source.chunk)
  if source.head then source.at = tonumber(string.match(source.head, '^%d+[ :]%d+ %S+ (%w+)'), 36)
  else source.next = 0 end
end
for _, source in ipairs(sources) do advance(source) end

-- The filed entries. A page reads at most CHUNKS chunks of them: it skips the entries of guests that moved in since the first
-- page, and there may be thousands.
local CHUNKS = 3
local filed = {chunk = {}, place = 0, chunks = 0, is_over = true}
if string.find(moved_in, '=', 1, true) and (cursor == '' or guest_count ~= '') then
  local rank = filed_after ~= '' and redis.call('ZREVRANK', ledger .. ':guests', filed_after)
  filed.after, filed.rank, filed.is_over = filed_after, rank and rank + 1 or 0, false
end
local guests_then = tonumber(guest_count) or (filed.is_over and 0 or #unfiled + redis.call('HLEN', ledger .. ':guests:ids'))

local guests = {}

-- Looks up the guests of a chunk's entries.
local function name_guests(chunk)
  local numbers, is_listed = {}, {}
  for index = 1, #chunk, 2 do
    local number = 999 - string.sub(chunk[index], 1, 3)
    if not guests[number] and not is_listed[number] then
      numbers[#numbers + 1], is_listed[number] = number, true
    end
  end
  if #numbers == 0 then return end
  for index, text in ipairs(redis.call('HMGET', ledger .. ':guests:ids', unpack(numbers))) do
    local id, entries = string.match(text, '^(%S+) (%d+)$')
    guests[numbers[index]] = {ledger = guest_ledger(ledger, id), entries = tonumber(entries)}
  end
end

local function advance_filed()
  filed.head = nil
  while not filed.is_over and not filed.head do
    if filed.place >= #filed.chunk then
      if filed.chunks == CHUNKS then return end
      local stop = filed.rank + tonumber(limit)
      filed.chunk = redis.call('ZRANGE', ledger .. ':guests', filed.rank, stop, 'REV', 'WITHSCORES')
      filed.place, filed.rank, filed.chunks = 0, stop + 1, filed.chunks + 1
      filed.is_over = #filed.chunk == 0
      if not filed.is_over then name_guests(filed.chunk) end
    end
    local member = filed.chunk[filed.place + 1]
    if member then
      local number = 999 - string.sub(member, 1, 3)
      if number <= guests_then then
        filed.head, filed.number, filed.at = member, number, tonumber(filed.chunk[filed.place + 2])
      else
        filed.after = member
      end
      filed.place = filed.place + 2
    end
  end
end
advance_filed()

local function filed_entry()
  local guest = guests[filed.number]
  return filed.number .. '.' .. redis.call('LINDEX', guest.ledger, string.sub(filed.head, 4) - guest.entries - 1)
end

local function newest()
  local chosen
  for _, source in ipairs(sources) do
    if source.head and (not chosen or source.at > chosen.at) then chosen = source end
  end
  if filed.head and (not chosen or filed.at > chosen.at) then return filed end
  return chosen
end

local answer = {'page', ''}
local source = newest()
while source and #answer < tonumber(limit) + 2 do
  -- The page has read as many filed entries as it may, and none of them is left to show: the next page goes on with the rest.
  if not filed.head and not filed.is_over then break end
  if source == filed then
    answer[#answer + 1] = filed_entry()
    filed.after = filed.head
    advance_filed()
  else
    answer[#answer + 1] = source.mark .. source.head
    source.next = source.next - 1
    advance(source)
  end
  source = newest()
end
if source or not filed.is_over then
  local next_places = {}
  for number, each in ipairs(sources) do next_places[number] = string.format('%.0f', each.next + 1) end
  answer[2] = table.concat(next_places, '.')
  if filed.after then answer[2] = answer[2] .. '~' .. filed.after .. '~' .. guests_then end
end
return answer
