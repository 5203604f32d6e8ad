import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { pairKeys } from '../../src/features/pairing/model.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { runAuditCommand } from '../consistency/command.ts';
import type { TestNode } from '../cluster-nodes.ts';
import { startProxiedCluster } from '../cluster-proxy.ts';
import { Client, type Answer } from './client.ts';
import { reportAudit, type Stand } from './coins.ts';
import { now, type History } from './history.ts';
import { Processes } from './processes.ts';

const ROUNDS = 200;
const CALLERS = 8;

/** The longest time for which a session makes calls before it is signed out. */
const CALLING_MS = 60;

/** Calls of each kind that begin after the sign-out was answered. */
const LATER_CALLS = 5;

/** A player whose room, board and pairing are on other primaries than its account. */
interface Caller {
  readonly installId: string;
  readonly account: TestNode;
  readonly code: string;
  readonly game: string;
}

interface Counts {
  before: number;
  after: number;
  servedAfter: number;
  odd: number;
}

/** Sessions that make calls without pause are signed out, every second one `everywhere`. Each call first checks the caller, then acts. */
export async function proveSignOut({ folder, history, figures, closing }: Stand): Promise<void> {
  const cluster = await startProxiedCluster();
  closing.push(() => cluster[Symbol.asyncDispose]());
  const processes = await Processes.open(2, { DATA_DIR: folder, REDIS_URL: cluster.url });
  closing.push(async () => history.log(await processes.stop()));
  const client = new Client(() => processes.url());
  closing.push(() => client.close());
  const place = (key: string): TestNode => {
    const slot = cluster.slotOf(key);
    return cluster.nodes.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))!;
  };
  const counts: Counts = { before: 0, after: 0, servedAfter: 0, odd: 0 };
  let rounds = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      const caller = await openCaller(client, place);
      while (rounds < ROUNDS) await proveRound(client, caller, place, { round: rounds++, counts, history });
    }),
  );
  figures.exactly('sign-outs, every second one everywhere', rounds, ROUNDS);
  figures.atLeast('calls served before the sign-out', counts.before, ROUNDS);
  figures.atLeast('calls that began after the sign-out was answered', counts.after, ROUNDS * 3 * LATER_CALLS);
  figures.exactly('  of them served', counts.servedAfter, 0);
  figures.exactly('calls answered with neither 200 nor 401', counts.odd, 0);
  reportAudit(figures, await runAuditCommand(['--full-speed', '--list', '5'], { REDIS_URL: cluster.url }));
}

async function openCaller(client: Client, place: (key: string) => TestNode): Promise<Caller> {
  const installId = `prove-${randomBytes(8).toString('hex')}`;
  const account = place(accountKey(accountIdOf(installId)));
  let code: string;
  do {
    const { room } = (await need(client.post('/v1/rooms', { installId }))).body;
    code = room.code;
  } while (place(roomKeys.room(code)) === account);
  let game: string;
  do game = `game-${randomBytes(4).toString('hex')}`;
  while ([account, place(roomKeys.room(code))].includes(place(boardKeys.scores(game))));
  return { installId, account, code, game };
}

async function proveRound(
  client: Client,
  { installId, account, code, game }: Caller,
  place: (key: string) => TestNode,
  { round, counts, history }: { round: number; counts: Counts; history: History },
): Promise<void> {
  const { sessionToken: bearer } = (await need(client.post('/v1/login', { installId, session: 'token' }))).body;
  let token: string;
  do token = (await need(client.post('/v1/pair/new', {}))).body.token;
  while (place(pairKeys.pair(token)) === account);
  let isSignedOut = false;
  let score = 0;
  const calls: (() => Promise<Answer>)[] = [
    () => client.post(`/v1/highscores/${game}`, { score: round * 1000 + score++, name: 'Ann' }, { bearer }),
    () => client.post(`/v1/rooms/${code}/state`, { state: score }, { bearer }),
    () => client.post('/v1/pair/claim', { token }, { bearer }),
  ];
  const calling = calls.map(async (call, kind) => {
    for (let later = 0; later < LATER_CALLS;) {
      const [beganAfter, sentAt] = [isSignedOut, now()];
      const { status, body } = await call();
      if (beganAfter) later++;
      if (status === 200) counts[beganAfter ? 'servedAfter' : 'before']++;
      if (beganAfter) counts.after++;
      if (status !== 200 && status !== 401) counts.odd++;
      history.note({ round, kind: ['submit', 'state', 'claim'][kind], sentAt, beganAfter, status, error: body.error?.code });
    }
  });
  await pause(CALLING_MS * Math.random());
  const everywhere = round % 2 === 1;
  // The calls go on until this is set.
  await need(client.post('/v1/logout', { everywhere }, { bearer })).finally(() => (isSignedOut = true));
  history.event(`round ${round}: signed out${everywhere ? ' everywhere' : ''}`);
  await Promise.all(calling);
}

async function need(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  if (answer.status !== 200) throw new Error(`answered with ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}
