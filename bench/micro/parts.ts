import { randomBytes } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { do_not_optimize, measure } from 'mitata';
import { pino } from 'pino';
import { encodeCommand } from '../../src/redis/resp.ts';
import { refuse } from '../../src/errors.ts';
import { catalogue as readCatalogue } from '../../src/features/catalogue/catalogue.ts';
import { Catalogue } from '../../src/features/catalogue/file.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { CoinOperationBody } from '../../src/features/coins/model.ts';
import { placeText } from '../../src/features/highscores/entry-format.ts';
import { parseEntries } from '../../src/features/highscores/model.ts';
import { submitScore } from '../../src/features/highscores/submit.ts';
import { roomReply } from '../../src/features/rooms/model.ts';
import { roomFeed, RoomState } from '../../src/features/rooms/feed.ts';
import { newPlayer } from '../../src/features/rooms/record.ts';
import { addressGroup, addressText } from '../../src/server/address.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { Encoded, okBody } from '../../src/server/http/endpoint.ts';
import { check, TargetValidation } from '../../src/server/http/request-data.ts';
import { responseLines } from '../../src/server/http/response-headers.ts';
import { RateLimit } from '../../src/server/rate-limit.ts';
import { Sessions } from '../../src/server/identity/sessions.ts';
import { TokenSigner } from '../../src/server/identity/signed-token.ts';
import { stampedState } from '../load/room-message.ts';

/** Measures the steps of a request in the service's process, one by one. */

export interface Part {
  readonly what: string;
  /** Nanoseconds per call: mean, median and 99th percentile. */
  readonly mean: number;
  readonly median: number;
  readonly p99: number;
}

const body = { installId: 'bench-install-0001', coins: 25, key: '2f1c8a5e-7f1b-4c2d-9a57-8d1e0c9b6a43' };
const bodyBytes = Buffer.from(JSON.stringify(body));
const wrongBody = { ...body, coins: 0.5 };

const signer = new TokenSigner([{ kid: 'bench', secret: randomBytes(32) }]);
const now = Date.now();
const token = signer.sign('session', {
  subject: accountIdOf('bench-install-0001'),
  id: 'c2Vzc2lvbi1pZA',
  issuedAt: now,
  expiresAt: now + 86_400_000,
});
const cookieHeader = `theme=dark; svc_session=${token}`;
const sessions = new Sessions(signer, { now: Date.now });
sessions.ofCookies(cookieHeader);

const topFigures = Array.from({ length: 10 }, (_, index) => [
  `${placeText(17_900_000_000_000 + index, false)}AbCdEfGhI${index}Player ${index}`,
  String(4000 - index),
]).flat();
const roomFields = new Map(
  Object.entries({
    ...{ code: 'BCDFG', game: 'pebble-drop', phase: 'playing', seq: '42', hostId: 'p1', players: 'p1 p2 p3 p4', writers: 'host' },
    ...{ minPlayers: '1', maxPlayers: '8', locked: 'false', public: 'false', tags: '{}', stateSeq: '42' },
    ...{ createdAt: '1700000000000', updatedAt: '1700000000000', expiresAt: '1700007200000', state: JSON.stringify(stampedState(1)) },
    ...Object.fromEntries(
      ['Ada', 'Bob', 'Cleo', 'Dan'].map((name, index) => [`p${index + 1}`, newPlayer(name, '2026-11-22T12:00:00.000Z')]),
    ),
  }),
);
const feed = roomFeed(undefined as never);

/** A change of the state, as `room.lua` publishes it. */
function pushed() {
  const seq = Number(roomFields.get('seq'));
  const change = ['state', roomFields.get('state'), 'stateSeq', seq + 1, 'seq', seq + 1, 'updatedAt', roomFields.get('updatedAt')];
  const state = feed.take(`${seq + 1}\n${roomFields.get('updatedAt')}\n${change.join('\n')}`, new RoomState(roomFields, undefined));
  return (state as RoomState).encode();
}

const catalogue = new Catalogue(undefined, pino({ level: 'silent' }));
const conditional = { meta: { ifNoneMatch: catalogue.edition.apps.etag } } as never;

const limit = new RateLimit(1e9, 1000, 1e9);
const addresses = Array.from({ length: 10_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
const peer = new Uint8Array([127, 0, 0, 1]).buffer;
let turn = 0;

const keyHash = halfSipHash(Buffer.from('benchkey'));

const submission = { score: 123_456, name: 'Ada' };
const target = new TargetValidation(submitScore);
const submissionWords =
  `${'0'.repeat(40)} 9 {board:g}:scores {board:g}:players {board:g}:arrivals {board:g}:version {board:g}:secret {a}:boards {a}:account {a}:moves
{a}:out:b 1790000000000 publisher seed 10 0 - - g desc 123 a Ada 123456 0 - 1`.split(/\s/);

const parts: Record<string, () => unknown> = {
  'body: bytes to JSON': () => (isUtf8(bodyBytes) ? JSON.parse(bodyBytes.toString()) : undefined),
  'body: zod, a coin operation': () => CoinOperationBody.safeParse(body),
  'body: zod, an invalid one': () => CoinOperationBody.safeParse(wrongBody),
  'body: zod, a submission': () => check(submitScore.body, submission),
  'path: a game, remembered': () => target.params(['pebble-drop']),
  'cookie: cached': () => sessions.ofCookies(cookieHeader),
  'cookie: not cached, signature verified': () => signer.verify('session', token, now),
  'cookie: signed': () => signer.sign('session', { subject: 'a', id: 'b', issuedAt: now, expiresAt: now + 1000 }),
  'caller: account of an installId': () => accountIdOf(body.installId),
  'coins: hash of a key': () => keyHash(body.key),
  'Redis: EVALSHA of a credit encoded': () =>
    encodeCommand('EVALSHA', ['0'.repeat(40), 6, '{a}:ledger', '{a}:keys', '', '{a}:account', '{a}:moves', '{a}:out:b', 'c25', body.key]),
  'Redis: EVALSHA of a submission encoded': () => encodeCommand('EVALSHA', submissionWords),
  'reply: header lines of a 200': () => responseLines(200, 'application/json', []),
  'reply: a coin operation encoded': () => okBody({ balanceAfterCoins: 123_456 }),
  'reply: a refusal encoded': () =>
    JSON.stringify({ ok: false, error: refuse('insufficient_coins', { field: 'coins', balanceCoins: 4 }).details }),
  'reply: top ten from Redis encoded': () => Encoded.ok({ game: 'pebble-drop', top: parseEntries(topFigures) }),
  'reply: a room of four encoded': () => roomReply(roomFields),
  'push: a room from Pub/Sub to message': pushed,
  'catalogue: 304 by ETag': () => readCatalogue.handle(conditional, { catalogue }),
  'limits: one address': () => limit.take('127.0.0.1', now),
  'limits: 10,000 addresses': () => limit.take(addresses[turn++ % addresses.length]!, now),
  'address: text and group of IPv4': () => addressGroup(addressText(peer)),
};

export async function measureParts(doing: (what: string) => void): Promise<Part[]> {
  const measured: Part[] = [];
  for (const [what, call] of Object.entries(parts)) {
    doing(what);
    const kept = (): unknown => {
      const result = call();
      do_not_optimize(result);
      return result;
    };
    const { avg, p50, p99 } = await measure(kept, { min_cpu_time: CPU_NANOSECONDS });
    measured.push({ what, mean: avg, median: p50, p99 });
  }
  catalogue.close();
  return measured;
}

const CPU_NANOSECONDS = 300e6;
