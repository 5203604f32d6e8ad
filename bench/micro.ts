import { measureParts } from './micro/parts.ts';
import { measureScripts } from './micro/scripts.ts';
import { Processes } from './processes/processes.ts';
import { aligned } from './report/table.ts';
import { numberText } from './report/numbers.ts';

/** `npm run bench:micro` measures the steps of a request one by one, in this process and in Redis, in about twenty seconds. */

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

const doing = (what: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${what}`);
};

const settings = { quick: false, connections: 1, seconds: 1, rounds: 1, minutes: 10, url: undefined };
const processes = new Processes(settings, stop.signal, { doing });

function show(title: string, rows: readonly string[][]): void {
  doing('');
  console.log(`${title}\n${aligned(rows).join('\n')}\n`);
}

try {
  const parts = await measureParts(doing);
  show('In the process, µs per call', [
    ['', 'mean', 'median', 'p99'],
    ...parts.map(({ what, mean, median, p99 }) => [what, ...[mean, median, p99].map((nanoseconds) => numberText(nanoseconds / 1000, 2))]),
  ]);
  stop.signal.throwIfAborted();
  const { redis } = await processes.redis();
  const { costs, missing } = await measureScripts(redis, stop.signal, doing);
  show('In Redis, µs per call (Redis sends no replies)', [
    ['', 'CPU of its main thread', 'time in the script'],
    ...costs.map(({ what, redisCpu, script }) => [what, numberText(redisCpu, 1), numberText(script, 1)]),
  ]);
  if (missing.length > 0) console.log(`Not measured: ${missing.join(', ')}`);
} catch (error) {
  doing('');
  if (!stop.signal.aborted) throw error;
  process.exitCode = 130;
} finally {
  await processes.close();
}
