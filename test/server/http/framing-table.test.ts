import { beforeAll, expect, test } from 'vitest';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, start } from '../../harness.ts';
import type { FramingCase, Outcome } from './framing/case.ts';
import { inParallel, run, type Run, type Timing } from './framing/run.ts';
import { table } from './framing/table.ts';

interface Seen extends Run {
  readonly ranFirst: boolean;
  readonly ranSecond: boolean;
}

const timings = ['alone', 'together', 'after the answer'] as const;
const seen = new Map<string, Seen>();

const service = await forFile(start());

beforeAll(async () => {
  const tasks = table.flatMap((framingCase) => timings.map((timing) => [framingCase, timing] as const));
  const runs = await inParallel(tasks, ([framingCase, timing]) => run(service, framingCase, timing), 64);
  // Every connection has been closed for a while, so every credit that runs at all has run, and has given its install an account.
  const { redis } = service.service;
  const accounts = redis.pipeline();
  for (const { first, second } of runs) for (const installId of [first, second]) accounts.exists(accountKey(accountIdOf(installId)));
  const exist = (await accounts.exec())!.map(([, count]) => count === 1);
  for (const [index, [{ name }, timing]] of tasks.entries())
    seen.set(`${name}|${timing}`, { ...runs[index]!, ranFirst: exist[2 * index]!, ranSecond: exist[2 * index + 1]! });
});

const seenOf = ({ name }: FramingCase, timing: Timing): Seen => seen.get(`${name}|${timing}`)!;

function outcomeOf({ statuses, closed, ranFirst }: Seen): Outcome | 'answered and executed' {
  const [status] = statuses;
  if (status === undefined) return closed ? 'dropped' : 'waits';
  if (ranFirst && status !== 200) return 'answered and executed';
  if (ranFirst) return closed ? 'served last' : 'served';
  if (status === 400 && closed) return 'refused';
  return closed ? `answered ${status} last` : `answered ${status}`;
}

const outcomeIn = ({ expected, exception }: FramingCase): Outcome => exception?.seen ?? expected;
const staysOpen = (outcome: Outcome): boolean => outcome === 'served' || /^answered \d+$/.test(outcome);

test('the table holds at least 450 cases, each with a name of its own', () => {
  expect(table.length).toBeGreaterThanOrEqual(450);
  expect(new Set(table.map(({ name }) => name)).size).toBe(table.length);
});

test.each(table)('$name: $expected', (framingCase) => {
  const outcome = outcomeIn(framingCase);
  const alone = seenOf(framingCase, 'alone');
  expect({ outcome: outcomeOf(alone), answers: alone.statuses.length }).toEqual({
    outcome,
    answers: outcome === 'waits' || outcome === 'dropped' ? 0 : 1,
  });
  expect(alone.ranSecond).toBe(false);
  // uWS closes after its own answers as well, but they have neither an id nor a Connection header.
  if (outcome.endsWith('last') || outcome === 'refused')
    if (alone.text.includes('x-request-id')) expect(alone.text).toMatch(/^connection: close\r$/im);

  // After a request whose end is beyond doubt, the second is an ordinary pipelined request.
  const together = seenOf(framingCase, 'together');
  if (!staysOpen(outcome)) {
    expect(together.ranSecond).toBe(false);
    expect(together.statuses.length).toBeLessThanOrEqual(1);
  }

  const after = seenOf(framingCase, 'after the answer');
  expect(after.statuses.slice(0, 1)).toEqual(alone.statuses);
  // The second credit runs after exactly those requests whose end is beyond doubt. So the ledger does show an execution.
  expect({ ranSecond: after.ranSecond, closed: after.closed }).toEqual({
    ranSecond: staysOpen(outcome),
    closed: !staysOpen(outcome) && outcome !== 'waits',
  });
  // uWS may answer the second request with an error of its own.
  if (!staysOpen(outcome)) expect(after.statuses.slice(1).filter((status) => status < 400)).toEqual([]);
});
