import { pino } from 'pino';
import { expect, test } from 'vitest';
import { DataVerdict } from '../../src/redis/data/data-verdict.ts';
import type { DataVerdictOptions } from '../../src/redis/data/known-data.ts';

const KEY = 'key of the data id';
const AT = 1_796_000_000_000;

/** A check's answer: the heartbeat before and after the check, and the times at which it was advanced before and at which the check ran. */
const found = (before: number, after: number, beatenAt: number, at: number): string[] =>
  ['found', 'data-1', before, after, beatenAt, 0, at, 'secret', ''].map(String);

test('a heartbeat that the replicas confirm while a check is under way does not make the checked data older', async () => {
  const logged: string[] = [];
  const [checks, confirmations]: ((answer: string[]) => void)[][] = [[], []];
  const waiting = (list: ((answer: string[]) => void)[]) => ({ run: () => new Promise((resolve) => list.push(resolve)) });
  const verdict = new DataVerdict({
    name: '127.0.0.1:7000',
    scripts: waiting(checks!),
    durable: waiting(confirmations!),
    mayWrite: () => true,
    known: { id: 'data-1', stands: true, heartbeats: new Map(), times: new Map(), found: new Map(), accepts: undefined },
    keys: () => ({ id: KEY, secret: 'key of the secret' }),
    isSecret: () => true,
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line).msg) }),
    adopted() {},
    lost() {},
  } as unknown as DataVerdictOptions);

  const first = verdict.check();
  checks![0]!(found(5000, 5000, AT - 1000, AT));
  await first;
  // Redis runs the second check, which advances the heartbeat to 6000, and then the confirmation of the first check. The confirmation is
  // answered first.
  const second = verdict.check();
  confirmations![0]!(['heartbeat', 'data-1', '6000']);
  await new Promise(setImmediate);
  checks![1]!(found(5000, 6000, AT - 1000, AT + 10));
  await second;
  expect(logged).toEqual([]);

  // The verdict still notices data that is older than what was confirmed before the check.
  const third = verdict.check();
  checks![2]!(found(5500, 6500, AT - 1000, AT + 1000));
  await third;
  expect(logged).toEqual([expect.stringContaining('redis came back in an older state')]);
});
