-- Reads a page of the history: entries of the account's own ledger and of the guests that moved into it, newest first.
-- KEYS ledger
-- ARGV cursor, limit
-- Prologue check-caller.lua: moved_in
-- Answers page(next cursor, entry …)
-- Library standing.lua: unfiled_guests, has_filed_guest
-- Library ledger.lua: guest_ledger
--
-- A cursor "<own>[.<guest>…][~<filed>~<guests>]" says where the next page begins in each source of entries:
-- - own, guest: a seq. The next page has the entries before this seq. `own` is for the account's own ledger. There is a `guest` for
--   each guest whose ledger is too large to be filed (file_guest of ledger.lua).
-- - filed: a member of the sorted set of filed entries (file_guest of ledger.lua). The next page has the filed entries after this member.
-- - guests: the number of guests at the first page. The pages that this cursor leads to have no entries of guests that moved in later.
--
-- An entry of a guest begins with the guest's number.

local sources = {}
local function add(of_ledger, entries, prefix)
  sources[#sources + 1] = {ledger = of_ledger, entries = entries, prefix = prefix, chunk = {}}
end

local last = redis.call('LINDEX', ledger, -1)
-- A damaged entry hides no other entry. If the last one is damaged, the number of entries tells its seq, unless retention has deleted some.
add(ledger, last and tonumber(string.match(last, '<entry: seq>') or redis.call('LLEN', ledger)) or 0, '')
local unfiled = unfiled_guests(moved_in)
for _, guest in ipairs(unfiled) do add(guest_ledger(ledger, guest.id), guest.entries, guest.number .. '.') end

local places, filed_after, guest_count = string.match(cursor, '^([%d.]*)~?(%d*)~?(%d*)$')
local given = {}
for before in string.gmatch(places, '%d+') do given[#given + 1] = tonumber(before) end
for number, source in ipairs(sources) do
  -- The seq of the next entry of this source.
  source.next = cursor == '' and source.entries or math.min((given[number] or 1) - 1, source.entries)
end

-- Entries that one command reads. If there is only one ledger, the command reads the page and one entry more, which tells whether another
-- page follows. If there are many ledgers, it reads few entries of each, because most of these ledgers have no entry on the page. Each
-- further read of the same ledger takes twice as many.
local chunk_length = math.max(1, math.floor((tonumber(limit) + 1) / #sources))

-- Puts the next entry of a source into `head`, and the entry's time into `at`. Retention may have deleted the oldest entries of the ledger,
-- so an index into the list has to count back from the newest entry, whose seq is known.
local function advance(source)
  if #source.chunk == 0 and source.next > 0 then
    local stop = source.next - source.entries - 1
    source.chunk = redis.call('LRANGE', source.ledger, stop - source.chunk_length + 1, stop)
    source.chunk_length = math.min(2 * source.chunk_length, tonumber(limit) + 1)
  end
  source.head = table.remove(source.chunk)
  if source.head then source.at = tonumber(string.match(source.head, '<entry: at>') or '0', 36)
  else source.next = 0 end
end

-- A heap of the sources that have an entry left. The source with the newest entry is first. If several have entries of the same time, the
-- source that was added first comes first. With a plain list, each of the hundreds of entries of a page would have to be compared with up
-- to fifty sources.
local heap, left = {}, 0
local function precedes(one, other) return one.at > other.at or (one.at == other.at and one.rank < other.rank) end
local function sink(place)
  local source = heap[place]
  while 2 * place <= left do
    local child = 2 * place
    if child < left and precedes(heap[child + 1], heap[child]) then child = child + 1 end
    if not precedes(heap[child], source) then break end
    heap[place], place = heap[child], child
  end
  heap[place] = source
end
for rank, source in ipairs(sources) do
  source.rank, source.chunk_length = rank, chunk_length
  advance(source)
  if source.head then
    left = left + 1
    heap[left] = source
  end
end
for place = math.floor(left / 2), 1, -1 do sink(place) end

-- Advances the first source of the heap, which had the newest entry, to its next entry.
local function advance_first()
  advance(heap[1])
  if not heap[1].head then
    local last = heap[left]
    heap[left], left = nil, left - 1
    if left == 0 then return end
    heap[1] = last
  end
  sink(1)
end

-- Entries of guests whose small ledgers are filed in one sorted set (file_guest of ledger.lua). A page reads at most CHUNKS chunks of the
-- sorted set. The number of chunks is bounded because a page skips the entries of guests that moved in since the first page, and there may
-- be thousands of such entries.
local CHUNKS = 3
local filed = {chunk = {}, place = 0, chunks = 0, is_over = true}
if has_filed_guest(moved_in) and (cursor == '' or guest_count ~= '') then
  local rank = filed_after ~= '' and redis.call('ZREVRANK', ledger .. ':guests', filed_after)
  filed.after, filed.rank, filed.is_over = filed_after, rank and rank + 1 or 0, false
end
local guests_then = tonumber(guest_count) or (filed.is_over and 0 or #unfiled + redis.call('HLEN', ledger .. ':guests:ids'))

local guests = {}

-- Returns the ledger of the guest with this number, whose small ledger is filed with the account. Called only for guests with entries on
-- the page.
local function guest_of(number)
  if not guests[number] then
    local id, entries = string.match(redis.call('HGET', ledger .. ':guests:ids', number), '<filed_guest>')
    guests[number] = {ledger = guest_ledger(ledger, id), entries = tonumber(entries)}
  end
  return guests[number]
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
    end
    local member = filed.chunk[filed.place + 1]
    if member then
      local number = 999 - string.sub(member, '<filed_entry: turn>')
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
  local guest = guest_of(filed.number)
  return filed.number .. '.' .. redis.call('LINDEX', guest.ledger, string.sub(filed.head, '<filed_entry: seq>') - guest.entries - 1)
end

local function newest()
  local unfiled = heap[1]
  if filed.head and (not unfiled or filed.at > unfiled.at) then return filed end
  return unfiled
end

local answer = {'page', ''}
local source = newest()
while source and #answer < tonumber(limit) + 2 do
  -- CHUNKS chunks of filed entries were read, and all their entries are on the page. The page ends here, because filed entries that were
  -- not read may be newer than the remaining entries of other ledgers.
  if not filed.head and not filed.is_over then break end
  if source == filed then
    answer[#answer + 1] = filed_entry()
    filed.after = filed.head
    advance_filed()
  else
    answer[#answer + 1] = source.prefix .. source.head
    source.next = source.next - 1
    advance_first()
  end
  source = newest()
end
if source or not filed.is_over then
  local next_places = {}
  for number, of_source in ipairs(sources) do next_places[number] = string.format('%.0f', of_source.next + 1) end
  answer[2] = table.concat(next_places, '.')
  if filed.after then answer[2] = answer[2] .. '~' .. filed.after .. '~' .. guests_then end
end
return answer
