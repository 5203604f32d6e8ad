import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { balanceScript } from '../../src/features/coins/balance.ts';
import { applyScript, coinKeys } from '../../src/features/coins/model.ts';
import { atText, boardKeys, TOP_SIZE } from '../../src/features/highscores/model.ts';
import { submitScript } from '../../src/features/highscores/submit.ts';
import { accountKey, movesKey, signedOutKey } from '../../src/accounts/keys.ts';
import { uws, type HttpResponse } from '../../src/server/uws.ts';
import { ready } from '../processes/parent.ts';
import { topTen } from './top-ten.ts';

/**
 * The floor under what touches Redis: uWebSockets.js and ioredis, the service's own scripts, one EVALSHA a request. Its
 * arguments are at hand but for what has to differ (key, score); bodies are read and not looked at; nothing is checked.
 */
const ACCOUNTS = 256;

const redis = new Redis({ path: process.env['REDIS_SOCKET']! });
for (const script of [applyScript, balanceScript, submitScript]) await redis.script('LOAD', script.text);

const accounts = Array.from({ length: ACCOUNTS }, () => {
  const id = randomBytes(16).toString('base64url');
  return {
    id,
    ledger: coinKeys.ledger(id),
    keys: coinKeys.keys(id),
    account: accountKey(id),
    moves: movesKey(id),
    boards: boardKeys.ofAccount(id),
    signedOut: signedOutKey(id, 'sixteen-letters!'),
  };
});
const keyPrefix = crypto.randomUUID().slice(0, 24);
const board = { scores: boardKeys.scores('bench'), players: boardKeys.players('bench'), arrivals: boardKeys.arrivals('bench') };
const top = JSON.stringify({ ok: true, game: 'bench', top: topTen });
let count = 0;

/** Of a script's answer to its one call. */
const figure = (answers: unknown, index: number): string => (answers as string[][])[0]![index]!;

function credit(): Promise<string> {
  const number = count++;
  const { ledger, keys, account, moves, signedOut } = accounts[number % ACCOUNTS]!;
  const key = keyPrefix + number.toString(16).padStart(12, '0');
  // Spreads an account's keys evenly, as the service's own hash does.
  const hash = Math.floor(number / ACCOUNTS) & 0xffff;
  const now = Date.now();
  return redis
    .evalsha(applyScript.sha, 6, ledger, keys, '', account, moves, signedOut, 'c5', key, hash, now.toString(36), 0, 0, 0, '', now, '')
    .then((answer) => `{"ok":true,"balanceAfterCoins":${figure(answer, 1)}}`);
}

/** The same key over and over: its first answer is written down once, and repeated. */
function replay(): Promise<string> {
  const { ledger, keys, account, moves, signedOut } = accounts[count++ % ACCOUNTS]!;
  const now = Date.now();
  return redis
    .evalsha(applyScript.sha, 6, ledger, keys, '', account, moves, signedOut, 'c5', keyPrefix, 7, now.toString(36), 0, 0, 0, '', now, '')
    .then((answer) => `{"ok":true,"balanceAfterCoins":${figure(answer, 1)},"replayed":true,"balanceCoins":${figure(answer, 2)}}`);
}

function balance(): Promise<string> {
  const { ledger, moves, signedOut } = accounts[count++ % ACCOUNTS]!;
  return redis.evalsha(balanceScript.sha, 3, ledger, moves, signedOut).then((answer) => `{"ok":true,"balanceCoins":${figure(answer, 1)}}`);
}

function submit(): Promise<string> {
  const number = count++;
  const { id, account, moves, boards, signedOut } = accounts[number % ACCOUNTS]!;
  const score = (number * 7919) % 1_000_003;
  const now = Date.now();
  const { scores, players, arrivals } = board;
  const keys = [scores, players, arrivals, boards, account, moves, signedOut];
  return redis
    .evalsha(submitScript.sha, 7, ...keys, 'bench', 'floor', 'desc', TOP_SIZE, id, 'player-id-00', 'Ada', score, atText(now), 0, 0, now, '')
    .then((answer) => JSON.stringify({ ok: true, rank: 1, best: score, personalBest: true, top: topTen, told: figure(answer, 1) }));
}

/** A request may end before Redis answers: uWS has to be listened to before anything is waited for. */
function answering(run: () => Promise<string>): (response: HttpResponse) => void {
  return (response) => {
    let isGone = false;
    response.onAborted(() => (isGone = true));
    void run().then((body) => {
      if (isGone) return;
      response.cork(() => response.writeHeader('content-type', 'application/json').end(body));
    });
  };
}

/** After the body, which nobody looks at. */
function afterBody(run: () => Promise<string>): (response: HttpResponse) => void {
  return (response) => {
    let isGone = false;
    response.onAborted(() => (isGone = true));
    response.onData((_, isLast) => {
      if (!isLast) return;
      void run().then((body) => {
        if (isGone) return;
        response.cork(() => response.writeHeader('content-type', 'application/json').end(body));
      });
    });
  };
}

uws
  .App()
  .post('/v1/coins/credit', afterBody(credit))
  .post('/replay', afterBody(replay))
  .get('/v1/balance', answering(balance))
  .post('/v1/highscores/:game', afterBody(submit))
  .get('/v1/highscores/:game', (response) => response.writeHeader('content-type', 'application/json').end(top))
  .listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) ready({ port: uws.us_socket_local_port(socket) });
  });
