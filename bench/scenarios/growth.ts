import { auditLedgers } from '../audit.ts';
import { credit } from '../../src/features/coins/credit.ts';
import { submitScore } from '../../src/features/highscores/submit.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { fill } from '../load/fill.ts';
import { fillBoard } from '../load/fill-board.ts';
import { newKeyPrefix, operation, type LoadCaller } from '../load/order.ts';
import type { Engine } from '../processes/engines.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';
import { GrownService } from './grown-service.ts';

/**
 * The cost of an operation by the amount of stored data. Each size has its own service and Redis, filled by the service's
 * handlers without HTTP. Then all sizes take turns. With --quick each size is a hundredth.
 */

/** Accounts that the load uses: so many that most requests miss the processor's cache, as in real use. */
const MAX_CALLERS = 20_000;

/** Number of ledgers that the audit reads. */
const AUDITED = 100;

/** Rounds of 5,000 requests; enough for an interval. */
const ROUNDS = 8;

/** For a scenario without a target the minimum for an interval is enough. */
const ROUNDS_WITHOUT_TARGET = 6;

const sizes = [1e3, 1e4, 1e5, 1e6];

export const growthAccounts: Scenario = {
  ...growth('growth-accounts', 'Growth: accounts', sizes, openAccounts),
  summary: 'A credit by installId while this many accounts have a ledger; at most 20,000 of them are credited.',
  operation: 'credit',
  targets: [
    { what: 'CPU of a credit at a million accounts against a thousand', figure: 'cpu', side: '1000000', against: '1000', most: 1.15 },
  ],
};

export const growthBoard: Scenario = {
  ...growth('growth-board', 'Growth: one board', sizes, openBoard),
  summary: 'A score submitted to a board with this many players, answered with rank and top ten.',
  operation: 'submission',
  targets: [
    { what: 'CPU of a submission at a million entries against a thousand', figure: 'cpu', side: '1000000', against: '1000', most: 2 },
  ],
};

/** Entries in all ledgers of a size together. It is the same for each size, so that the rounds lengthen all ledgers by the same part. */
const LEDGER_ENTRIES = 100_000;

export const growthLedger: Scenario = {
  ...growth('growth-ledger', 'Growth: one ledger', [1e2, 1e3, 1e4, 1e5], openLedgers),
  summary: 'A credit to an account whose ledger has this many entries.',
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

export async function openAccounts(bench: Bench, size: number, engine?: Engine): Promise<Contestant> {
  const service = await GrownService.start(bench, engine);
  const run = crypto.randomUUID();
  const keyPrefix = newKeyPrefix();
  const installId = (account: number): string => `bench-${run}-${account}`;
  const callers = evenly(size, Math.min(size, MAX_CALLERS));
  const callerOf = new Map(callers.map((account, caller) => [account, caller]));
  await fill(
    service.filled,
    size,
    (call, account) => {
      // Callers get the operations that the audit expects. The other accounts get numbers that no caller uses.
      const body = operation(callerOf.get(account) ?? size + account, keyPrefix);
      return call(credit, { installId: installId(account), body });
    },
    bench.signal,
  );
  const loadCallers = callers.map((account) => ({ installId: installId(account) }));
  return credited(service, loadCallers, keyPrefix, { filled: callers.length, sample: AUDITED, stored: { accounts: size } });
}

export async function openLedgers(bench: Bench, length: number, engine?: Engine): Promise<Contestant> {
  const service = await GrownService.start(bench, engine);
  const run = crypto.randomUUID();
  const keyPrefix = newKeyPrefix();
  const entries = Math.max(length, bench.settings.quick ? LEDGER_ENTRIES / 100 : LEDGER_ENTRIES);
  const callers = Array.from({ length: entries / length }, (_, index) => ({ installId: `bench-${run}-${index}` }));
  await fill(
    service.filled,
    entries,
    (call, number) => call(credit, { installId: callers[number % callers.length]!.installId, body: operation(number, keyPrefix) }),
    bench.signal,
  );
  return credited(service, callers, keyPrefix, { filled: entries, sample: AUDITED, stored: {} });
}

/** Credits callers whose ledgers already contain the operations 0 to `filled` − 1. */
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

/** Players who submit scores. Their number is the same at each size, so that the same part of the scores is an improvement. */
const BOARD_CALLERS = 1000;

export async function openBoard(bench: Bench, size: number, engine?: Engine): Promise<Contestant> {
  const service = await GrownService.start(bench, engine);
  const run = crypto.randomUUID();
  const game = `bench-${size}`;
  const installId = (player: number): string => `bench-${run}-${player}`;
  if (engine === undefined) {
    await fill(
      service.filled,
      size,
      (call, player) =>
        call(submitScore, {
          installId: installId(player),
          params: { game },
          body: { score: (player * 7919) % 1_000_003, name: `Player ${player}` },
        }),
      bench.signal,
    );
  } else {
    // On a Cluster a handler would wait for the look at the caller.
    await fillBoard(await service.redisOf(boardKeys.scores(game)), game, { size, installOf: installId, signal: bench.signal });
  }
  const callers = evenly(size, Math.min(size, BOARD_CALLERS)).map((player) => ({ installId: installId(player) }));
  const body = '{"installId":"$installId","score":$score,"name":"Ada"}';
  const load = service.load({ method: 'POST', path: `/v1/highscores/${game}`, body }, { callers, keyPrefix: newKeyPrefix(), from: size });
  return {
    round: () => load.round(),
    async audit() {
      const redis = await service.redisOf(boardKeys.scores(game));
      const [entries, players] = [await redis.zcard(boardKeys.scores(game)), await redis.hlen(boardKeys.players(game))];
      return entries === size && players === size ? [] : [`the board has ${entries} entries of ${players} players instead of ${size}`];
    },
    close: () => service.end(),
  };
}

/** `count` numbers below `size`, evenly spread. */
export function evenly(size: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor((index * size) / count));
}
