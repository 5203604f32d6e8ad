import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastifyCookie from '@fastify/cookie';
import fastifyJwt from '@fastify/jwt';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import { Redis } from 'ioredis';
import { balanceScript } from '../../src/features/coins/balance-script.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { applyScript } from '../../src/features/coins/apply.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { boardKeys, parseEntries, TOP_SIZE } from '../../src/features/highscores/model.ts';
import { submitScript } from '../../src/features/highscores/submit.ts';
import { topScript } from '../../src/features/highscores/top.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import { accountKey, standingKey, signedOutKey } from '../../src/accounts/account-keys.ts';
import { ready } from '../processes/parent.ts';
import { balanceReply, creditBody, creditReply, healthReply, loginBody, scoreBody, scoreReply, topReply } from './fastify-schemas.ts';

/**
 * A peer that does the same job with Fastify: JSON-schema validation, compiled replies, @fastify/cookie, @fastify/jwt and
 * ioredis. It runs the service's own scripts, so that Redis does the same work. Settings follow the documentation's advice
 * for speed: production mode, no logger, a schema for every reply, a cache of verified tokens. It has no rate limits, no
 * metrics and none of the service's deadlines.
 */
const redis = new Redis({ path: process.env['REDIS_SOCKET']! });
const SECRET = '0011223344556677';
const keyHash = halfSipHash(Buffer.from(SECRET, 'hex'));
// The scripts ask whether the data is the service's.
await redis.mset(KEY_SECRET, SECRET, DATA_VERSION_KEY, DATA_VERSION);
for (const script of [applyScript, balanceScript, submitScript, topScript.apart!]) await redis.script('LOAD', script.text);
/** Runs a script with one call. The service's scripts reply with a list, one reply for each call. */
async function run(sha: string, keys: string[], args: (string | number)[]): Promise<string[]> {
  const answers = (await redis.evalsha(sha, keys.length, ...keys, ...args)) as string[][];
  return answers[0]!;
}

interface Caller {
  readonly accountId: string;
  /** Key of the session's sign-out record. Empty when an installId names the caller. */
  readonly signedOut: string;
}

// fast-jwt warns about the cacheKeyBuilder below.
process.removeAllListeners('warning');
const app = fastify({ logger: false });
await app.register(fastifyCookie);
await app.register(fastifyJwt, {
  secret: randomBytes(32),
  cookie: { cookieName: 'svc_session', signed: false },
  sign: { expiresIn: '30d' },
  // The token itself is the cache key, which fast-jwt's documentation recommends for speed.
  verify: { onlyCookie: true, cache: 20_000, cacheTTL: 60_000, cacheKeyBuilder: (token: string) => token } as never,
});

/** The account of the session, or without a session the account of the installId. */
async function callerOf(request: FastifyRequest, installId: string | undefined): Promise<Caller | undefined> {
  if (request.cookies['svc_session'] !== undefined) {
    const { sub, sid } = await request.jwtVerify<{ sub: string; sid: string }>();
    return { accountId: sub, signedOut: signedOutKey(sub, sid) };
  }
  return installId === undefined ? undefined : { accountId: accountIdOf(installId), signedOut: '' };
}

/** Adds the keys that a script needs to act for a caller. */
function withSession(keys: string[], { accountId, signedOut }: Caller): string[] {
  return [...keys, standingKey(accountId), signedOut];
}

function refuse(reply: FastifyReply, status: number, code: string): object {
  reply.code(status);
  return { ok: false, error: { code } };
}

app.get('/health', { schema: { response: healthReply } }, async () => ({ ok: true, service: 'fastify' }));

app.post<{ Body: { installId: string } }>('/v1/login', { schema: { body: loginBody } }, async (request, reply) => {
  const accountId = accountIdOf(request.body.installId);
  const token = await reply.jwtSign({ sub: accountId, sid: randomBytes(12).toString('base64url') });
  reply.setCookie('svc_session', token, { path: '/', httpOnly: true, sameSite: 'lax', maxAge: 30 * 86_400 });
  return { ok: true, accountId };
});

app.post<{ Body: { installId?: string; coins: number; key: string } }>(
  '/v1/coins/credit',
  { schema: { body: creditBody, response: creditReply } },
  async (request, reply) => {
    const { installId, coins, key } = request.body;
    const caller = await callerOf(request, installId);
    if (caller === undefined) return refuse(reply, 401, 'identity_required');
    const { accountId } = caller;
    const [word, first, second] = await run(applyScript.sha, withSession([coinKeys.ledger(accountId), accountKey(accountId)], caller), [
      Date.now(),
      '',
      SECRET,
      `c${coins}`,
      key,
      keyHash(key),
      '',
    ]);
    if (word === 'done' || word === '+done') return { ok: true, balanceAfterCoins: Number(first) };
    if (word === 'replayed') return { ok: true, balanceAfterCoins: Number(first), replayed: true, balanceCoins: Number(second) };
    return refuse(reply, word === 'key_reused' ? 422 : word === 'session_ended' ? 401 : 409, word!);
  },
);

app.get<{ Querystring: { installId?: string } }>('/v1/balance', { schema: { response: balanceReply } }, async (request, reply) => {
  const caller = await callerOf(request, request.headers['x-install-id']?.toString() ?? request.query.installId);
  if (caller === undefined) return refuse(reply, 401, 'identity_required');
  const [word, coins] = await run(balanceScript.sha, withSession([coinKeys.ledger(caller.accountId)], caller), [Date.now()]);
  return word === 'balance' ? { ok: true, balanceCoins: Number(coins) } : refuse(reply, 401, word!);
});

app.post<{ Params: { game: string }; Body: { installId?: string; score: number; name: string } }>(
  '/v1/highscores/:game',
  { schema: { body: scoreBody, response: scoreReply } },
  async (request, reply) => {
    const { game } = request.params;
    const { installId, score, name } = request.body;
    const caller = await callerOf(request, installId);
    if (caller === undefined) return refuse(reply, 401, 'identity_required');
    const now = Date.now();
    const { accountId } = caller;
    const known = submittedTop.get(game);
    const [word, , personalBest, rank, best, , , version, ...figures] = await run(
      submitScript.sha,
      withSession([...boardParts.map((part) => boardKeys[part](game)), boardKeys.ofAccount(accountId), accountKey(accountId)], caller),
      [now, 'fastify', 'seed', TOP_SIZE, 0, '', '', game, 'desc', known?.version ?? '', accountId, name, score, 0, '', ''],
    );
    if (word !== 'done' && word !== '+done') return refuse(reply, 401, word!);
    // Without entries the top ten is still the known one.
    let top = known?.top ?? [];
    if (version !== undefined && figures.length > 0) {
      top = parseEntries(figures);
      submittedTop.set(game, { version, top });
      boardCache.delete(game);
    }
    return { ok: true, rank: Number(rank), best: Number(best), personalBest: personalBest === '1', top };
  },
);

const boardParts = ['scores', 'players', 'arrivals', 'version', 'secret'] as const;
const topParts = ['scores', 'players', 'version', 'secret'] as const;
/** The top ten of the last submission to each board whose answer held one. */
const submittedTop = new Map<string, { version: string; top: ReturnType<typeof parseEntries> }>();

/** Boards, cached for 100 ms, as long as the service caches them. */
const boardCache = new Map<string, { top: ReturnType<typeof parseEntries>; until: number }>();

app.get<{ Params: { game: string } }>('/v1/highscores/:game', { schema: { response: topReply } }, async ({ params: { game } }) => {
  const known = boardCache.get(game);
  if (known !== undefined && performance.now() < known.until) return { ok: true, game, top: known.top };
  const until = performance.now() + 100;
  const keys = topParts.map((part) => boardKeys[part](game));
  const [, , , , ...figures] = await run(topScript.apart!.sha, keys, [Date.now(), 'desc', TOP_SIZE, '', '', '', '', '', '0']);
  const top = parseEntries(figures);
  boardCache.set(game, { top, until });
  return { ok: true, game, top };
});

await app.listen({ host: '127.0.0.1', port: 0 });
ready({ port: (app.server.address() as AddressInfo).port });
