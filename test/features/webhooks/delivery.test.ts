import type { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import type { EventType } from '../../../src/features/events/model.ts';
import { Hooks } from '../../../src/features/webhooks/hooks.ts';
import { hookKeys, type Attempted } from '../../../src/features/webhooks/model.ts';
import { WebhookCounts } from '../../../src/features/webhooks/webhook-counts.ts';
import { Webhooks } from '../../../src/features/webhooks/webhooks.ts';
import { Metrics } from '../../../src/server/metrics.ts';
import { forFile, sleep, start } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { FakeLog } from './fake-log.ts';
import { startReceiver, type Received, type Receiver } from './receiver.ts';

/** Delivery of events to an endpoint, with real requests, a real Redis, a log in memory, and a clock that the test moves. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let aheadMs = 0;
/** The time at which the clock stands still, if it does. */
let stoppedAt: number | undefined;
const now = (): number => stoppedAt ?? Date.now() + aheadMs;
const service = await forFile(start());
const scripts = new CallerScripts(service.service.connections.scripts, { now, checksTags: true });
const hooks = new Hooks({ scripts, config: { WEBHOOKS_PRIVATE: 'on' }, now });
afterEach(async () => {
  [aheadMs, stoppedAt] = [0, undefined];
  for (const { id } of await hooks.list()) await hooks.remove(id);
});

interface Process {
  readonly webhooks: Webhooks;
  readonly lines: string[];
  readonly metrics: Metrics;
}

/** The part of a process that delivers to hooks. */
function startProcess(log: FakeLog, answerMs = 10_000): Process {
  const lines: string[] = [];
  const metrics = new Metrics();
  const counts = new WebhookCounts(metrics);
  const webhooks = new Webhooks({
    events: log,
    scripts,
    hooks,
    counts,
    log: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }),
    now,
    wallClock: now,
    answerMs,
  });
  onTestFinished(() => webhooks.close());
  return { webhooks, lines, metrics };
}

interface Added {
  readonly id: string;
  readonly secret: string;
}

async function addHook(receiver: Pick<Receiver, 'url'>, cursor = 0, types?: EventType[]): Promise<Added> {
  const added = await hooks.add({ url: receiver.url, types }, cursor);
  return added!;
}

/** A receiver, a log, a hook that begins at its start, and a process that delivers. */
async function delivering(answer?: Receiver['answer'], types?: EventType[]) {
  const receiver = await startReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  if (answer !== undefined) receiver.answer = answer;
  const log = new FakeLog();
  const hook = await addHook(receiver, 0, types);
  return { receiver, log, hook, ...startProcess(log) };
}

const stateOf = async ({ id }: Added) => (await hooks.find(id))!;
/** Waits until the hook stands at this position of the log. */
const passed = (hook: Added, cursor: number) => eventually(async () => (await stateOf(hook)).cursor === cursor);
/** Waits until the events of so many accounts wait. */
const waits = (hook: Added, accounts: number) => eventually(async () => (await stateOf(hook)).waitingAccounts === accounts);
/** Waits until the endpoint has received so many requests in all. */
const received = (receiver: Receiver, count: number): Promise<void> => eventually(() => receiver.received.length === count);

const idOf = ({ headers }: Received): string => headers['webhook-id']!;
const idsOf = ({ received }: Receiver): string[] => received.map(idOf);
const accountOf = ({ body }: Received): string => (JSON.parse(body) as { accountId: string }).accountId;

async function outcomesOf(hook: Added, event: string): Promise<Pick<Attempted, 'outcome' | 'status' | 'error' | 'attempt'>[]> {
  const attempts = (await hooks.attempts(hook.id)).filter((each) => each.event === event);
  return attempts
    .toReversed()
    .map(({ outcome, status, error, attempt }) => ({ outcome, attempt, ...(status === undefined ? { error } : { status }) }));
}

/** Answers with 500 for these accounts. */
function failing(...accounts: string[]): Receiver['answer'] {
  return (request, response) => void response.writeHead(accounts.includes(accountOf(request)) ? 500 : 204).end();
}

describe('events', () => {
  test('arrive signed, whole and once, those of an account in order, from where the hook began', async () => {
    await using receiver = await startReceiver();
    const log = new FakeLog();
    log.add('ada');
    const hook = await addHook(receiver, await log.end());
    startProcess(log);
    const ids = Array.from({ length: 30 }, (_, index) => log.add(['ada', 'ben', 'cleo'][index % 3]));
    await received(receiver, 30);
    expect(idsOf(receiver).toSorted()).toEqual(ids.toSorted());
    for (const account of ['ada', 'ben', 'cleo']) {
      const ofAccount = receiver.received.filter((each) => accountOf(each) === account).map(idOf);
      expect(ofAccount).toEqual(ids.filter((id) => ofAccount.includes(id)));
    }
    for (const { headers, body } of receiver.received)
      expect(new Webhook(hook.secret).verify(body, headers)).toMatchObject({ id: headers['webhook-id'] });
    const [page] = (await log.read(1, 1)).events;
    expect(JSON.parse(receiver.received.find((each) => idOf(each) === ids[0])!.body)).toEqual(page);
    await passed(hook, 31);
    expect(await outcomesOf(hook, ids[7]!)).toEqual([{ outcome: 'delivered', attempt: 1, status: 204 }]);
  });

  test('of a new hook wait until its position is stored, because the next process would else begin further on', async () => {
    await using receiver = await startReceiver();
    const log = new FakeLog();
    log.add('ada');
    await hooks.add({ url: receiver.url }, undefined);
    const run = scripts.run;
    const noting = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    const watched = vi.spyOn(scripts, 'run').mockImplementation(async (...call: Parameters<typeof run>) => {
      if (call[0].name === 'webhooks/note-deliveries') {
        noting.resolve();
        await stored.promise;
      }
      return run.apply(scripts, call);
    });
    onTestFinished(() => void watched.mockRestore());
    startProcess(log);
    await noting.promise;
    const event = log.add('ben');
    await sleep(300);
    expect(receiver.received).toEqual([]);
    stored.resolve();
    await received(receiver, 1);
    expect(idsOf(receiver)).toEqual([event]);
  });

  test('of other types than those of the hook do not arrive, and its position passes them', async () => {
    const { receiver, log, hook } = await delivering(undefined, ['account.banned', 'account.deleted']);
    log.add('ada');
    const banned = log.add('ada', 'account.banned');
    log.add('ada');
    await passed(hook, 3);
    expect(idsOf(receiver)).toEqual([banned]);
  });

  test('without an account keep their order too', async () => {
    const { receiver, log } = await delivering();
    const ids = Array.from({ length: 5 }, () => log.add(undefined, 'board.season_ended'));
    await received(receiver, 5);
    expect(idsOf(receiver)).toEqual(ids);
  });

  test('of one account are sent one after the other, those of several at once', async () => {
    const open: [Received, ServerResponse][] = [];
    const { receiver, log } = await delivering((request, response) => void open.push([request, response]));
    for (let index = 0; index < 6; index++) log.add(index % 2 === 0 ? 'ada' : 'ben');
    for (let round = 0; round < 3; round++) {
      await eventually(() => open.length === 2);
      expect(open.map(([request]) => accountOf(request)).toSorted()).toEqual(['ada', 'ben']);
      for (const [, response] of open.splice(0)) response.writeHead(200).end();
    }
    expect(receiver.received).toHaveLength(6);
  });
});

test('forty-nine endpoints that hang get one request each, and the fiftieth hook gets every event', async () => {
  await using hanging = await startReceiver();
  await using healthy = await startReceiver();
  const open: ServerResponse[] = [];
  hanging.answer = (_, response) => void open.push(response);
  const log = new FakeLog();
  await Promise.all(Array.from({ length: 49 }, () => addHook(hanging)));
  await addHook(healthy);
  for (let index = 0; index < 120; index++) log.add(`account${index}`);
  const read = vi.spyOn(log, 'read');
  startProcess(log);
  await eventually(() => healthy.received.length === 120 && open.length === 49);
  expect(hanging.connections()).toBe(49);
  // Fifty hooks that read by themselves would read more than a hundred pages.
  expect(read.mock.calls.length).toBeLessThan(10);
});

describe('an event that fails', () => {
  test('holds up its account, and no other; it is sent again after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, and then given up', async () => {
    stoppedAt = Date.now();
    const { receiver, log, hook, metrics, lines } = await delivering(failing('ada'));
    const first = log.add('ada');
    const second = log.add('ada');
    await received(receiver, 1);
    const others = [log.add('ben'), log.add('cleo')];
    await received(receiver, 3);
    await passed(hook, 4);
    expect(await stateOf(hook)).toMatchObject({ waitingAccounts: 1, isHeld: true });
    const failedAt = (await hooks.attempts(hook.id)).find(({ event }) => event === first)!.at;
    const waits = [5000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)];
    let dueAt = failedAt;
    for (const [index, waitMs] of waits.entries()) {
      dueAt += waitMs;
      // No attempt happens before its time.
      stoppedAt = dueAt - 1;
      await eventually(async () => (await hooks.attempts(hook.id)).length === 3 + index);
      expect(receiver.received).toHaveLength(3 + index);
      stoppedAt = dueAt;
      await eventually(() => receiver.received.length >= 4 + index);
    }
    // The last failure gives up, and the next event of the account follows at once.
    await received(receiver, 13);
    expect(idsOf(receiver)).toEqual([first, ...others, ...Array<string>(9).fill(first), second]);
    await eventually(async () => (await outcomesOf(hook, first)).length === 10);
    const failures = Array.from({ length: 9 }, (_, index) => ({ outcome: 'failed', attempt: index + 1, status: 500 }));
    expect(await outcomesOf(hook, first)).toEqual([...failures, { outcome: 'given_up', attempt: 10, status: 500 }]);
    expect(await metrics.registry.metrics()).toContain(`coinop_webhook_attempts_total{hook="${hook.id}",outcome="given_up"} 1`);
    expect(lines.filter((line) => line.includes('is given up'))).toHaveLength(1);
    expect(lines.join('')).not.toContain(hook.secret.slice(6));
  });

  test('waits as long as Retry-After says, in place of the next wait, a day at most', async () => {
    const { receiver, log, hook } = await delivering(
      (_, response) => void response.writeHead(429, { 'retry-after': receiver.received.length === 1 ? '600' : '9999999' }).end(),
    );
    const event = log.add('ada');
    await eventually(async () => (await outcomesOf(hook, event)).length === 1);
    aheadMs += 590_000;
    log.add('ben');
    await received(receiver, 2);
    expect(idsOf(receiver)).toEqual(['e0', 'e1']);
    aheadMs += 11_000;
    await eventually(async () => (await outcomesOf(hook, event)).length === 2);
    aheadMs += 24 * HOUR_MS + 1000;
    await eventually(async () => (await outcomesOf(hook, event)).length === 3);
  });

  test('after its account was deleted has no data', async () => {
    const { receiver, log } = await delivering(failing('ada'));
    log.add('ada');
    await received(receiver, 1);
    log.blank('ada');
    aheadMs += 5000;
    await received(receiver, 2);
    expect(receiver.received.map(({ body }) => (JSON.parse(body) as { data: object }).data)).toEqual([{ coins: 1 }, {}]);
  });

  test('and that the log drops meanwhile is given up', async () => {
    const { receiver, log, hook } = await delivering(failing('ada'));
    log.add('ada');
    await waits(hook, 1);
    log.drop(1);
    aheadMs += 5000;
    await waits(hook, 0);
    expect((await hooks.attempts(hook.id))[0]).toMatchObject({ outcome: 'given_up', error: 'expired', position: 0 });
  });
});

describe('an endpoint', () => {
  test('that is down is probed by one request at a time; once it answers, everything arrives in order', async () => {
    const { receiver, log, hook, lines, metrics } = await delivering((_, response) => void response.writeHead(502).end());
    const accounts = Array.from({ length: 100 }, (_, index) => `account${index}`);
    for (const account of [...accounts, ...accounts]) log.add(account);
    await eventually(() => lines.some((line) => line.includes('is down')));
    const triedBefore = receiver.received.length;
    // 32 may be under way when the 64th in a row fails.
    expect(triedBefore).toBeLessThan(64 + 32);
    expect(await metrics.registry.metrics()).toContain(`coinop_webhook_down{hook="${hook.id}"} 1`);
    for (let probe = 1; probe <= 5; probe++) {
      aheadMs += 31_000;
      await eventually(() => receiver.received.length >= triedBefore + probe);
    }
    expect(receiver.received.length).toBeLessThan(64 + 32 + 7);
    receiver.answer = (_, response) => void response.writeHead(204).end();
    const failed = receiver.received.length;
    aheadMs += 31_000;
    await received(receiver, failed + 200);
    const arrived = receiver.received.slice(failed).map(idOf);
    for (const [index] of accounts.entries())
      expect(arrived.filter((id) => [`e${index}`, `e${index + 100}`].includes(id))).toEqual([`e${index}`, `e${index + 100}`]);
    await eventually(async () => (await stateOf(hook)).cursor === 200 && (await stateOf(hook)).waitingAccounts === 0);
  });

  test('that often fails gets every event, in order by account', async () => {
    const taken: string[] = [];
    // The first attempts at three events of four fail: one, two or three.
    const { receiver, log, hook } = await delivering((request, response) => {
      const isTaken = idsOf(receiver).filter((id) => id === idOf(request)).length > Number(idOf(request).slice(1)) % 4;
      if (isTaken) taken.push(idOf(request));
      response.writeHead(isTaken ? 200 : 500).end();
    });
    for (let index = 0; index < 100; index++) log.add(`account${index % 25}`);
    await eventually(async () => {
      aheadMs += MINUTE_MS;
      return (await stateOf(hook)).cursor === 100 && (await stateOf(hook)).waitingAccounts === 0;
    });
    expect(new Set(taken).size).toBe(100);
    for (let account = 0; account < 25; account++)
      expect(taken.filter((id) => Number(id.slice(1)) % 25 === account)).toEqual([0, 25, 50, 75].map((more) => `e${account + more}`));
  });

  test('that answers 410 gets nothing any more, until an operator enables the hook: it goes on where it stood', async () => {
    const { receiver, log, hook, lines, metrics } = await delivering((_, response) => void response.writeHead(410).end());
    log.add('ada');
    await eventually(async () => (await stateOf(hook)).disabled !== undefined);
    expect((await stateOf(hook)).disabled).toEqual({ by: 'gone', at: expect.any(Number) });
    log.add('ada');
    expect(lines.filter((line) => line.includes('answered 410'))).toHaveLength(1);
    expect(await metrics.registry.metrics()).toContain('coinop_webhooks_gone_total 1');
    receiver.answer = (_, response) => void response.writeHead(204).end();
    expect(receiver.received).toHaveLength(1);
    await hooks.enable(hook.id);
    aheadMs += 5000;
    await received(receiver, 3);
    expect(idsOf(receiver)).toEqual(['e0', 'e0', 'e1']);
  });
});

describe('a process', () => {
  test('that ends gives its hooks to another, which repeats nothing', async () => {
    const { receiver, log, hook, webhooks: first } = await delivering();
    await eventually(async () => (await stateOf(hook)).isHeld);
    startProcess(log);
    for (let index = 0; index < 10; index++) log.add('ada');
    await received(receiver, 10);
    await first.close();
    log.add('ada');
    await received(receiver, 11);
    expect(idsOf(receiver)).toEqual(Array.from({ length: 11 }, (_, index) => `e${index}`));
  });

  test('that dies loses nothing: another goes on when its lease is over, and repeats what was not noted', async () => {
    await using receiver = await startReceiver();
    receiver.answer = failing('ada');
    const log = new FakeLog();
    const hook = await addHook(receiver);
    log.add('ada');
    log.add('ben');
    // A process that died holds the lease, and had noted that ada waits.
    const redis = service.service.redis;
    await redis.hset(hookKeys.state(hook.id), { leasedBy: 'dead', leaseEnd: Date.now() + 1500, cursor: 1, turn: 7 });
    const waiting = { steps: '0', failedSince: now(), attempts: 1, nextAt: now() + 5000 };
    await redis.hset(hookKeys.waiting(hook.id), 'ada', JSON.stringify(waiting));
    const startedAt = performance.now();
    startProcess(log);
    await received(receiver, 1);
    expect(performance.now() - startedAt).toBeGreaterThan(1000);
    expect(idsOf(receiver)).toEqual(['e1']);
    aheadMs += 5000;
    await received(receiver, 2);
    expect(idsOf(receiver)).toEqual(['e1', 'e0']);
    await eventually(async () => (await outcomesOf(hook, 'e0')).length === 1);
    expect(await outcomesOf(hook, 'e0')).toEqual([{ outcome: 'failed', attempt: 2, status: 500 }]);
  });

  test('begins again from the state in Redis when a failover brings an older one back', async () => {
    const { receiver, log, hook } = await delivering();
    for (let index = 0; index < 5; index++) log.add('ada');
    await passed(hook, 5);
    await service.service.redis.hset(hookKeys.state(hook.id), { cursor: 3, turn: 0 });
    log.add('ada');
    // The process may send one more event before it learns of the failover.
    await eventually(() => idsOf(receiver).slice(5).includes('e3') && idsOf(receiver).at(-1) === 'e5');
    expect(idsOf(receiver).slice(-3)).toEqual(['e3', 'e4', 'e5']);
    await passed(hook, 6);
  });

  test('goes on when the log can be read again', async () => {
    const { receiver, log, lines } = await delivering();
    log.problem = new Error('redis is away');
    log.add('ada');
    await eventually(() => lines.some((line) => line.includes('could not be read')));
    log.problem = undefined;
    await received(receiver, 1);
  });
});

describe('an operator', () => {
  test('has an event delivered again, outside the order of its account, and removes a hook with all its keys', async () => {
    const { receiver, log, hook } = await delivering();
    for (let index = 0; index < 3; index++) log.add('ada');
    await received(receiver, 3);
    expect(await hooks.askAgain(hook.id, { event: 'e1', position: 1 })).toBe('asked');
    await received(receiver, 4);
    expect(idsOf(receiver)).toEqual(['e0', 'e1', 'e2', 'e1']);
    await eventually(async () => (await service.service.redis.exists(hookKeys.asked(hook.id), hookKeys.waiting(hook.id))) === 0);
    await hooks.remove(hook.id);
    expect(await hooks.askAgain(hook.id, { event: 'e1', position: 1 })).toBe('none');
    expect(await service.service.redis.keys('{webhooks}*')).toEqual([]);
  });

  test('has all events delivered again from a position on, while some wait', async () => {
    const { receiver, log, hook } = await delivering(failing('ada'));
    for (const account of ['ada', 'ben', 'ada', 'ben', 'ada']) log.add(account);
    await eventually(async () => (await stateOf(hook)).cursor === 5 && (await stateOf(hook)).waitingAccounts === 1);
    receiver.answer = (_, response) => void response.writeHead(204).end();
    receiver.received.length = 0;
    expect(await hooks.replay(hook.id, 2)).toBe(true);
    await eventually(() => idsOf(receiver).includes('e3'));
    aheadMs += 5000;
    await received(receiver, 4);
    expect(receiver.received.filter((each) => accountOf(each) === 'ada').map(idOf)).toEqual(['e0', 'e2', 'e4']);
    expect(await hooks.replay('nosuch00', 2)).toBe(false);
  });

  test('rotates the secret: both sign until the old one ends', async () => {
    const { receiver, log, hook: old } = await delivering();
    const { secret } = (await hooks.rotate(old.id, now() + HOUR_MS))!;
    await eventually(async () => {
      log.add('ada');
      return receiver.received.some(({ headers }) => headers['webhook-signature']!.split(' ').length === 2);
    });
    const { headers, body } = receiver.received.at(-1)!;
    for (const each of [secret, old.secret]) expect(new Webhook(each).verify(body, headers)).toBeDefined();
    aheadMs += HOUR_MS;
    const last = log.add('ada');
    await eventually(() => idsOf(receiver).includes(last));
    expect(receiver.received.at(-1)!.headers['webhook-signature']!.split(' ')).toHaveLength(1);
  });

  test('ends all older secrets with the overlap of a rotation, and postpones no earlier end', async () => {
    await using receiver = await startReceiver();
    const { id } = await addHook(receiver);
    const time = now();
    const untilAfter = async (minutes: number) => {
      const { record, secret } = (await hooks.rotate(id, time + minutes * MINUTE_MS))!;
      expect(record.secrets[0]).toEqual({ secret });
      return record.secrets.slice(1).map(({ until }) => (until! - time) / MINUTE_MS);
    };
    expect([await untilAfter(60), await untilAfter(10), await untilAfter(30), await untilAfter(0)]).toEqual([
      [60],
      [10, 10],
      [30, 10, 10],
      [],
    ]);
  });
});
