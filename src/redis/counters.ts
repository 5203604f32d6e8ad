/** The fields of a script that show whether the script counts. */
interface CountingScript {
  readonly library: string;
  readonly body: string;
  readonly readOnly: boolean;
}

interface Form {
  readonly cluster?: boolean;
}

/**
 * Counters of what scripts did on each UTC day. A script counts in the same EVALSHA as its change, so Redis has both or neither.
 *
 * The Redis key of a day's counters is a hash: the name of a counter, and its value. A batch adds to each counter that its calls have
 * counted once, whatever the number of calls. With a command for each call, a credit would cost Redis a tenth more.
 *
 * A single Redis has one hash a day. A Cluster has a hash a day for each place in whose slot a batch has counted (`place` of
 * `script-text.ts`), because a batch on a primary can write only to the slots of this primary. The value of a counter is the sum over all
 * places. A primary keeps its place until its slots move, so there are few places.
 */
export const COUNTERS = 'counters:';

/**
 * The Redis key, behind the tag of a place, of a hash: the number of a day that has counters at this place → when something of the day was
 * first counted, in milliseconds since 1970. 0: scripts have counted there only what was deleted since.
 */
export const COUNTED_DAYS = 'counters:days';

/** The hash tag of the counters of a single Redis. */
export const COUNTERS_TAG = '{numbers}';

export const COUNTED_DAY_MS = 86_400_000;

/** The number of the UTC day of a time: days since 1970. Keys of counters have it. */
export const dayNumber = (at: number): number => Math.floor(at / COUNTED_DAY_MS);

/** Whether calls of the script may count. */
export function mayCount({ library, body, readOnly }: CountingScript): boolean {
  return !readOnly && USES.test(library + body);
}

const USES = /\bcount_(?:today|letter|on)\(/;

/**
 * Lua functions for scripts that count:
 *
 * - `count_today(name, number)`, on the day of `now`, which is also the time of the ledger entries that the batch writes.
 * - `count_letter(letter, number)`, on the same day, for numbers of both signs: `letter` is the byte of a letter, and the counters are `+c`
 *   and `-c`. A credit counts so. Most batches count one letter, so its sum needs no table, and its name is made once a batch.
 * - `count_on(day, name, number)`, on a day by its number.
 */
export function counterFunctions(script: CountingScript): string {
  if (!USES.test(script.library + script.body)) return '';
  if (script.readOnly) return 'local function count_today() end\nlocal count_letter, count_on = count_today, count_today';
  return `local counted_letter, counted_number, numbers_of_today, numbers_of_days
local function count_today(name, number)
  numbers_of_today = numbers_of_today or {}
  numbers_of_today[name] = (numbers_of_today[name] or 0) + number
end
local function count_letter(letter, number)
  if number < 0 then letter = -letter end
  if letter == counted_letter then counted_number = counted_number + number
  elseif not counted_letter then counted_letter, counted_number = letter, number
  else count_today(letter, number) end
end
local function count_on(day, name, number)
  numbers_of_days = numbers_of_days or {}
  local of_day = numbers_of_days[day] or {}
  numbers_of_days[day], of_day[name] = of_day, (of_day[name] or 0) + number
end`;
}

/**
 * Lua at the end of a batch: adds the numbers of its calls to the counters. The calls have already written, so an error of a counter must
 * not become the error of the batch. Lua's numbers are exact up to 2^53, and Redis writes a whole number without an exponent.
 */
export function writeCounters(script: CountingScript, { cluster }: Form): string {
  if (!mayCount(script)) return '';
  const [format, args, days] =
    cluster === true
      ? [`'%s${COUNTERS}%d'`, 'place, ', `place .. '${COUNTED_DAYS}'`]
      : [`'${COUNTERS_TAG}${COUNTERS}%d'`, '', `'${COUNTERS_TAG}${COUNTED_DAYS}'`];
  // A counter that is new has exactly the added value, so the list of days is seldom written.
  const add = (key: string, name: string, number: string, day: string, firstAt: string): string =>
    `if redis.pcall('HINCRBY', ${key}, ${name}, ${number}) == ${number} then redis.pcall('HSETNX', ${days}, ${day}, ${firstAt}) end`;
  const today = `math.floor(now / ${COUNTED_DAY_MS})`;
  return `local function letter_name(letter) return string.char(letter < 0 and 45 or 43, math.abs(letter)) end
if counted_letter and counted_number ~= 0 then
  local key, number = string.format(${format}, ${args}now / ${COUNTED_DAY_MS}), math.abs(counted_number)
  ${add('key', 'letter_name(counted_letter)', 'number', today, 'now')}
end
if numbers_of_today then
  local key = string.format(${format}, ${args}now / ${COUNTED_DAY_MS})
  for name, number in pairs(numbers_of_today) do
    if type(name) == 'number' then name, number = letter_name(name), math.abs(number) end
    if number ~= 0 then
      ${add('key', 'name', 'number', today, 'now')}
    end
  end
end
if numbers_of_days then
  for day, numbers in pairs(numbers_of_days) do
    local key = string.format(${format}, ${args}day)
    for name, number in pairs(numbers) do
      if number ~= 0 then
        ${add('key', 'name', 'number', 'day', "'0'")}
      end
    end
  end
end`;
}
