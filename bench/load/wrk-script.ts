import { spread } from './requests.ts';
import type { LoadOrder, RequestPlan } from './order.ts';

/**
 * Translates an order into a script for wrk, which makes the same requests with the same numbers as requests.ts. The script
 * runs in LuaJIT with one thread. It stops by its own clock, because wrk counts whole seconds only, and then writes `stopped`
 * to standard error. When wrk has finished, the script writes the counts there as JSON.
 */
export function wrkScript(order: LoadOrder): string {
  const { host } = new URL(order.url);
  const turns = spread(order.requests.map(({ share = 1 }) => share));
  return `
local ffi = require("ffi")
ffi.cdef [[ typedef struct { long seconds; long nanoseconds; } bench_time; int clock_gettime(int clock, bench_time *time); ]]
local time = ffi.new("bench_time")
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

local cookies = ${list(order.callers.map(({ cookie = '' }) => cookie))}
local installs = ${list(order.callers.map(({ installId }) => installId))}
local turns = {${turns.map((kind) => kind + 1).join(',')}}
local makers = {
${order.requests.map((plan) => maker(plan, host, order)).join(',\n')}
}
local operations_of = {${order.requests.map(({ isOperation = false, repeats }) => (isOperation && repeats === undefined ? 1 : 0)).join(',')}}

-- Number of requests made, and of the operations among them that take effect. Globals, because done() reads them.
sent, operations = 0, 0
local number, ends_at = ${order.from}, nil
function request()
  -- wrk calls request() once before it opens a connection, so the clock starts with the second call.
  if sent == 1 then ends_at = now() + ${order.seconds} end
  if sent % 16 == 15 and now() > ends_at then
    if not stopped then io.stderr:write("${STOPPED}\\n") end
    stopped = true
    wrk.thread:stop()
  end
  local kind = turns[number % #turns + 1]
  local text = makers[kind](number)
  number, sent, operations = number + 1, sent + 1, operations + operations_of[kind]
  return text
end

local loader
function setup(thread) loader = thread end
function done(summary)
  local errors = summary.errors
  io.stderr:write(string.format(
    '{"requests":%d,"sent":%d,"operations":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\\n',
    summary.requests, loader:get("sent"), loader:get("operations"),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
`;
}

/** The script writes this to standard error when its time is up. */
export const STOPPED = 'stopped';

/** A Lua function that makes a request from its number. */
function maker({ method, path, headers = {}, body, repeats }: RequestPlan, host: string, order: LoadOrder): string {
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = filled(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${named.join('')}`, order);
  const reduced = repeats === undefined ? '' : `number = number % ${repeats} `;
  if (body === undefined) return `function(number) ${reduced}return ${head} .. "\\r\\n" end`;
  const length = '"content-type: application/json\\r\\ncontent-length: " .. #body .. "\\r\\n\\r\\n"';
  return `function(number) ${reduced}local body = ${filled(body, order)} return ${head} .. ${length} .. body end`;
}

/** A Lua expression that fills a template. */
function filled(text: string, { callers, keyPrefix }: LoadOrder): string {
  const values: Record<string, string> = {
    $cookie: `cookies[number % ${callers.length} + 1]`,
    $installId: `installs[number % ${callers.length} + 1]`,
    $key: `string.format(${quoted(keyPrefix)} .. "%012x", number)`,
    $coins: '(1 + number % 9)',
    $score: '((number * 7919) % 1000003)',
  };
  const parts = text.split(/(\$[a-zA-Z]+)/).flatMap((part, index) => {
    if (index % 2 === 0) return part === '' ? [] : [quoted(part)];
    const value = values[part];
    if (value === undefined) throw new Error(`a request has an unknown value ${part}`);
    return [value];
  });
  return parts.join(' .. ');
}

function list(texts: readonly string[]): string {
  return `{${texts.map(quoted).join(',')}}`;
}

/** The text is ASCII, for which Lua understands JSON's escapes. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
