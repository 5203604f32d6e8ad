import { auditLedgers } from '../audit.ts';
import { credit } from '../../src/features/coins/credit.ts';
import { submitScore } from '../../src/features/highscores/submit.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { fill } from '../load/fill.ts';
import { newKeyPrefix, operation, type LoadCaller } from '../load/order.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';
import { GrownService } from './grown-service.ts';

/**
 * What an operation costs where much is stored already. Each size has a service and a Redis of its own, filled by the
 * service's own handlers without HTTP; then all sizes take turns. With --quick a hundredth of each size is stored.
 */

/** Accounts that the load goes to: most of a large Redis is not in the processor's cache then, as in life. */
const MOST_CALLERS = 20_000;

/** Ledgers that are read back whole by the audit. */
const AUDITED = 100;

/** Of 5,000 requests each: enough for an interval. */
const ROUNDS = 8;

/** Where no target is to be decided: the fewest that have an interval. */
const ROUNDS_WITHOUT_TARGET = 6;

const sizes = [1e3, 1e4, 1e5, 1e6];

export const growthAccounts: Scenario = {
  ...growth('growth-accounts', 'Growth: accounts', sizes, openAccounts),
  summary: 'A credit by installId where so many accounts have a ledger; at most 20,000 of them are credited.',
  operation: 'credit',
  targets: [
    { what: 'CPU of a credit at a million accounts against a thousand', figure: 'cpu', side: '1000000', against: '1000', most: 1.15 },
  ],
};

export const growthBoard: Scenario = {
  ...growth('growth-board', 'Growth: one board', sizes, openBoard),
  summary: 'A score submitted to a board of so many players, answered with its rank and the top ten.',
  operation: 'submission',
  targets: [
    { what: 'CPU of a submission at a million entries against a thousand', figure: 'cpu', side: '1000000', against: '1000', most: 2 },
  ],
};

/** Entries over all ledgers of a size: rounds make each of them a fifth longer, whatever its length. */
const LEDGER_ENTRIES = 100_000;

export const growthLedger: Scenario = {
  ...growth('growth-ledger', 'Growth: one ledger', [1e2, 1e3, 1e4, 1e5], openLedgers),
  summary: 'A credit to an account whose ledger has so many entries.',
  operation: 'credit',
  targets: [],
  rounds: ROUNDS_WITHOUT_TARGET,
};

function growth(
  name: string,
  title: string,
  at: readonly number[],
  open: (bench: Bench, size: number) => Promise<Contestant>,
): Pick<Scenario, 'name' | 'family' | 'title' | 'sides' | 'anywhere' | 'rounds'> {
  const side = (size: number): Side => ({
    id: String(size),
    name: size.toLocaleString('en'),
    kind: 'service',
    at: size,
    open: (bench) => open(bench, bench.settings.quick ? Math.max(10, size / 100) : size),
  });
  return { name, family: 'growth', title, sides: at.map(side), anywhere: false, rounds: ROUNDS };
}

async function openAccounts(bench: Bench, size: number): Promise<Contestant> {
  const service = await GrownService.start(bench);
  const run = crypto.randomUUID();
  const keyPrefix = newKeyPrefix();
  const installId = (account: number): string => `bench-${run}-${account}`;
  const callers = evenly(size, Math.min(size, MOST_CALLERS));
  const callerOf = new Map(callers.map((account, caller) => [account, caller]));
  await fill(
    service.redis,
    size,
    (call, account) => {
      // The first operations of each caller; the others' are nobody's business.
      const body = operation(callerOf.get(account) ?? size + account, keyPrefix);
      return call(credit, { installId: installId(account), body });
    },
    bench.signal,
  );
  const loadCallers = callers.map((account) => ({ installId: installId(account) }));
  return credited(service, loadCallers, keyPrefix, { filled: callers.length, sample: AUDITED, stored: { accounts: size } });
}

async function openLedgers(bench: Bench, length: number): Promise<Contestant> {
  const service = await GrownService.start(bench);
  const run = crypto.randomUUID();
  const keyPrefix = newKeyPrefix();
  const entries = Math.max(length, bench.settings.quick ? LEDGER_ENTRIES / 100 : LEDGER_ENTRIES);
  const callers = Array.from({ length: entries / length }, (_, index) => ({ installId: `bench-${run}-${index}` }));
  await fill(
    service.redis,
    entries,
    (call, number) => call(credit, { installId: callers[number % callers.length]!.installId, body: operation(number, keyPrefix) }),
    bench.signal,
  );
  return credited(service, callers, keyPrefix, { filled: entries, sample: AUDITED, stored: {} });
}

/** A service whose callers have ledgers with operations 0 to `filled` in them, and are credited more. */
function credited(
  service: GrownService,
  callers: readonly LoadCaller[],
  keyPrefix: string,
  { filled, sample, stored }: { filled: number; sample: number; stored: { accounts?: number } },
): Contestant {
  const body = '{"installId":"$installId","coins":$coins,"key":"$key"}';
  const load = service.load({ method: 'POST', path: '/v1/coins/credit', body, isOperation: true }, { callers, keyPrefix, from: filled });
  return {
    round: () => load.round(),
    async audit() {
      const problems = stored.accounts === undefined ? [] : await service.missing('{*}:account', stored.accounts);
      const acknowledged = [...Array.from({ length: filled }).keys(), ...load.acknowledged];
      return [...problems, ...(await auditLedgers(service.url, { callers, keyPrefix, acknowledged, unanswered: load.unanswered, sample }))];
    },
    close: () => service.end(),
  };
}

/** Players whose scores are submitted again and again: the same number at each size, so that as many are improved. */
const BOARD_CALLERS = 1000;

async function openBoard(bench: Bench, size: number): Promise<Contestant> {
  const service = await GrownService.start(bench);
  const run = crypto.randomUUID();
  const game = `bench-${size}`;
  const installId = (player: number): string => `bench-${run}-${player}`;
  await fill(
    service.redis,
    size,
    (call, player) =>
      call(submitScore, {
        installId: installId(player),
        params: { game },
        body: { score: (player * 7919) % 1_000_003, name: `Player ${player}` },
      }),
    bench.signal,
  );
  const callers = evenly(size, Math.min(size, BOARD_CALLERS)).map((player) => ({ installId: installId(player) }));
  const body = '{"installId":"$installId","score":$score,"name":"Ada"}';
  const load = service.load({ method: 'POST', path: `/v1/highscores/${game}`, body }, { callers, keyPrefix: newKeyPrefix(), from: size });
  return {
    round: () => load.round(),
    async audit() {
      const [entries, players] = [await service.redis.zcard(boardKeys.scores(game)), await service.redis.hlen(boardKeys.players(game))];
      return entries === size && players === size ? [] : [`a board of ${size} players has ${entries} entries of ${players} players`];
    },
    close: () => service.end(),
  };
}

/** `count` numbers below `size`, evenly spread. */
function evenly(size: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor((index * size) / count));
}
