import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { balanceScript } from '../../src/features/coins/balance-script.ts';
import { applyScript } from '../../src/features/coins/apply.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { boardKeys, TOP_SIZE } from '../../src/features/highscores/model.ts';
import { submitScript } from '../../src/features/highscores/submit.ts';
import { accountKey, standingKey, signedOutKey } from '../../src/accounts/account-keys.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import { uws, type HttpResponse } from '../../src/server/uws.ts';
import { ready } from '../processes/parent.ts';
import { topTen } from './top-ten.ts';

/**
 * A floor for requests that use Redis: uWebSockets.js, ioredis and the service's own scripts, one EVALSHA a request. The
 * arguments are made in advance, except those that must differ (key, score). Bodies are read but not parsed, and nothing is
 * checked.
 */
const ACCOUNTS = 256;

const redis = new Redis({ path: process.env['REDIS_SOCKET']! });
for (const script of [applyScript, balanceScript, submitScript]) await redis.script('LOAD', script.text);

// The scripts ask whether the data is the service's.
const SECRET = '0011223344556677';
await redis.mset(KEY_SECRET, SECRET, DATA_VERSION_KEY, DATA_VERSION);

const accounts = Array.from({ length: ACCOUNTS }, () => {
  const id = randomBytes(16).toString('base64url');
  return {
    id,
    ledger: coinKeys.ledger(id),
    account: accountKey(id),
    standing: standingKey(id),
    boards: boardKeys.ofAccount(id),
    signedOut: signedOutKey(id, 'sixteen-letters!'),
  };
});
const keyPrefix = crypto.randomUUID().slice(0, 24);
const board = (['scores', 'players', 'arrivals', 'version', 'secret'] as const).map((part) => boardKeys[part]('bench'));
const topList = JSON.stringify(topTen);
const top = `{"ok":true,"game":"bench","top":${topList}}`;
/** The version of the top ten as the last answer gave it. While it is current, Redis sends no entries. */
let known = '';
let count = 0;

/** A value of the reply to the only call in a script's list of replies. */
const figure = (answers: unknown, index: number): string => (answers as string[][])[0]![index]!;

function credit(): Promise<string> {
  const number = count++;
  const { ledger, account, standing, signedOut } = accounts[number % ACCOUNTS]!;
  const key = keyPrefix + number.toString(16).padStart(12, '0');
  // Spreads the keys of an account evenly, as the service's hash does.
  const hash = Math.imul(Math.floor(number / ACCOUNTS), 0x9e3779b1);
  return redis
    .evalsha(applyScript.sha, 4, ledger, account, standing, signedOut, Date.now(), '', SECRET, 'c5', key, hash, '')
    .then((answer) => `{"ok":true,"balanceAfterCoins":${figure(answer, 1)}}`);
}

/** Sends the same key each time. After the first call of an account the script replays the stored result. */
function replay(): Promise<string> {
  const { ledger, account, standing, signedOut } = accounts[count++ % ACCOUNTS]!;
  return redis
    .evalsha(applyScript.sha, 4, ledger, account, standing, signedOut, Date.now(), '', SECRET, 'c5', keyPrefix, 7, '')
    .then((answer) => `{"ok":true,"balanceAfterCoins":${figure(answer, 1)},"replayed":true,"balanceCoins":${figure(answer, 2)}}`);
}

function balance(): Promise<string> {
  const { ledger, standing, signedOut } = accounts[count++ % ACCOUNTS]!;
  return redis
    .evalsha(balanceScript.sha, 3, ledger, standing, signedOut, Date.now())
    .then((answer) => `{"ok":true,"balanceCoins":${figure(answer, 1)}}`);
}

function submit(): Promise<string> {
  const number = count++;
  const { id, account, standing, boards, signedOut } = accounts[number % ACCOUNTS]!;
  const score = (number * 7919) % 1_000_003;
  const now = Date.now();
  return redis
    .evalsha(
      submitScript.sha,
      9,
      ...board,
      boards,
      account,
      standing,
      signedOut,
      now,
      'floor',
      'seed',
      TOP_SIZE,
      0,
      '',
      '',
      'bench',
      'desc',
      known,
      id,
      'Ada',
      score,
      0,
      '',
      '',
    )
    .then((answer) => {
      // The service encodes a changed list once; the floor sends the same bytes without reading it.
      known = figure(answer, 7) ?? known;
      return `{"ok":true,"rank":${figure(answer, 3)},"best":${figure(answer, 4)},"personalBest":${figure(answer, 2) === '1'},"top":${topList}}`;
    });
}

/** Runs without reading a body. uWS requires `onAborted` before any await, and no write after an abort. */
function answering(run: () => Promise<string>): (response: HttpResponse) => void {
  return (response) => {
    let isAborted = false;
    response.onAborted(() => (isAborted = true));
    void run().then((body) => {
      if (isAborted) return;
      response.cork(() => response.writeHeader('content-type', 'application/json').end(body));
    });
  };
}

/** Runs after the whole body has arrived. A body of the load comes in one piece. */
function afterBody(run: (body: Buffer) => Promise<string>): (response: HttpResponse) => void {
  return (response) => {
    let isAborted = false;
    response.onAborted(() => (isAborted = true));
    response.onData((piece, isLast) => {
      if (!isLast) return;
      // uWS reuses the memory of the piece.
      void run(Buffer.from(Buffer.from(piece))).then((body) => {
        if (isAborted) return;
        response.cork(() => response.writeHeader('content-type', 'application/json').end(body));
      });
    });
  };
}

/** The text of a save: SET, and GET. */
const saveKeys = accounts.map(({ id }) => `{${id}}:save`);
const setSave = (body: Buffer): Promise<string> => redis.set(saveKeys[count++ % ACCOUNTS]!, body).then(() => '{"ok":true,"version":1}');
const getSave = (): Promise<string> =>
  redis.get(saveKeys[count++ % ACCOUNTS]!).then((data) => `{"ok":true,"name":"slot-1","version":1,"data":${data}}`);

uws
  .App()
  .post('/v1/saves/:game/:name', afterBody(setSave))
  .get('/v1/saves/:game/:name', answering(getSave))
  .post('/v1/coins/credit', afterBody(credit))
  .post('/replay', afterBody(replay))
  .get('/v1/balance', answering(balance))
  .post('/v1/highscores/:game', afterBody(submit))
  .get('/v1/highscores/:game', (response) => response.writeHeader('content-type', 'application/json').end(top))
  .listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) ready({ port: uws.us_socket_local_port(socket) });
  });
