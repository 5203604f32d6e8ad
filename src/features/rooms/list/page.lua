-- Reads a page of a list, newest room first. The script reads a bounded number of entries and bytes, so the page may be short.
-- KEYS order, untils, rooms, version
-- ARGV from, limit, most_rooms, most_read, most_bytes, needles, known
-- Answers same page(version, entry that the next page follows or '', number of entries past their time, time at which the first entry of the page ends or '', entry, summary …)
--
-- from       the last entry of the page before, which this page continues; '' for the first page
-- known      the version of the page that the process has; '' if it has no page, or if an entry of its page is past its time
-- most_read  the most bytes of all summaries that the script reads. The last summary may exceed this
-- most_bytes the most bytes of the summaries in the page. The last summary may exceed this
-- needles    a line for each wanted tag, sorted by the tag's name: texts, separated by tabs, of which the summary must contain one
local version_now = redis.call('GET', version) or ''
if known ~= '' and known == version_now then return {'same'} end

local filters = {}
for line in string.gmatch(needles, '[^\n]+') do
  local choices = {}
  for text in string.gmatch(line, '[^\t]+') do choices[#choices + 1] = text end
  filters[#filters + 1] = choices
end

-- Whether a summary has all wanted tags. The lines of `needles` and the tags of a summary are both sorted by name. So the search for a tag
-- can begin after the tag that was found before, and all tags are found in one pass through the summary.
local function passes(summary)
  local ends = 0
  for _, choices in ipairs(filters) do
    local found_at
    for _, text in ipairs(choices) do
      local _, last_at = string.find(summary, text, ends + 1, true)
      if last_at then found_at = last_at break end
    end
    if not found_at then return false end
    ends = found_at
  end
  return true
end

-- The most entries that the first call to Redis reads. The number is enough for a page of the default size. More would be costly, because a
-- hundred rooms with the longest tags are 300 KB.
local FIRST_AT_A_TIME = 25
local MOST_AT_A_TIME = 100 -- the most entries that each further call reads
local answer, found, bytes, seen, read, lapsed, first_end = {'page', '', '', '', ''}, 0, 0, 0, 0, 0, nil
limit, most_rooms, most_read, most_bytes = tonumber(limit), tonumber(most_rooms), tonumber(most_read), tonumber(most_bytes)
local last, is_more, chunk = from, false, math.min(limit + 1, FIRST_AT_A_TIME)
repeat
  -- Reads one entry more than the page needs, to find out whether there is a next page.
  local count = math.min(chunk, most_rooms - seen + 1)
  local entries = redis.call('ZREVRANGEBYLEX', order, last == '' and '+' or '(' .. last, '-', 'LIMIT', 0, count)
  if #entries == 0 then break end
  local summaries, ends = redis.call('HMGET', rooms, unpack(entries)), redis.call('ZMSCORE', untils, unpack(entries))
  for place, entry in ipairs(entries) do
    if found == limit or seen == most_rooms or read >= most_read or bytes >= most_bytes then
      is_more = true
      break
    end
    seen, last = seen + 1, entry
    local ends_at, summary = tonumber(ends[place]), summaries[place]
    read = read + (summary and #summary or 0)
    if not ends_at or not summary or ends_at <= tonumber(now) then lapsed = lapsed + 1
    elseif passes(summary) then
      found, bytes = found + 1, bytes + #summary
      if not first_end or ends_at < first_end then first_end = ends_at end
      answer[4 + 2 * found], answer[5 + 2 * found] = entry, summary
    end
  end
  -- Computes how many entries are read next: no more than the bounds probably allow, by the average length of the summaries that were read
  -- so far. The number is at least 1, because with 0 the list would seem to have no more entries, and with a negative number Redis would
  -- read the whole list.
  local left, most = most_read - read, MOST_AT_A_TIME
  if #filters == 0 then left, most = math.min(left, most_bytes - bytes), math.min(most, limit + 1 - found) end
  chunk = math.max(1, math.min(2 * chunk, most, 1 + math.ceil(left * seen / math.max(read, 1))))
until is_more or #entries < count
answer[2] = version_now
if is_more then answer[3] = last end
answer[4] = string.format('%d', lapsed)
answer[5] = first_end and string.format('%d', first_end) or ''
return answer
