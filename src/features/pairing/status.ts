import { z } from 'zod';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { settled } from '../../accounts/standing-reader.ts';
import { listSession } from '../../accounts/session-list.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { WaitSeconds } from '../../server/http/endpoint.ts';
import { sessionIdOf } from '../../server/identity/sessions.ts';
import { endpoint, type Services } from '../../declare.ts';
import { HandedToken, handOver, SessionForm } from '../sessions/model.ts';
import { positionOf } from './feed.ts';
import { givenSecrets, mayBePairToken, pairedSessionName, pairKeys, PairStatus, PairToken, secretHash, type PairedKind } from './model.ts';

type StatusServices = Pick<Services, 'scripts' | 'sessions' | 'topics' | 'feeds' | 'now'>;

const statusScript = defineScript({
  file: new URL('status.lua', import.meta.url),
  keys: ['pair'],
  args: ['now', 'secretHashes', 'claimantState'],
  answers: ['pending', 'scanned', 'claimed', 'denied', 'expired', 'signs_in', 'claimant_wanted', 'pair_not_found'],
});

export const pairingStatus = endpoint({
  method: 'GET',
  path: '/v1/pair/status',
  operationId: 'getPairing',
  caller: 'none',
  summary: 'Reads the status of a pairing. Once it is claimed, signs in the browser that opened it.',
  description:
    'The status goes from pending through scanned to claimed or denied. It is expired if the time runs out first, or if a guest claims the ' +
    'pairing and moves into a store account before the session is fetched. The claimed status gives the session exactly once, as ' +
    'svc_session or as a token, and only to the client that holds svc_pair or sends the secret of the pairing in `x-pair-secret`; others ' +
    'read the status only. The same client, and no other, learns in `claimedBy` who claimed the pairing: show it before you go on, because ' +
    'whoever saw the code may have claimed it. A pairing opened with `session:"token"` gives a token. Ten minutes after its time a pairing is deleted: 404. ' +
    'With `wait` it is a long-poll: it answers at the next change, or after `wait` seconds.',
  headers: { 'x-pair-secret': 'The `secret` of a pairing that was opened with `session:"token"`. It counts as the cookie svc_pair.' },
  query: z.object({
    token: PairToken,
    session: SessionForm,
    wait: WaitSeconds,
    since: PairStatus.optional().meta({
      description: 'For `wait`: the status that the client knows. Defaults to the status at the time of the request.',
    }),
  }),
  waitSeconds: ({ wait }: { wait?: string }) => Number(wait ?? 0),
  reply: z.object({
    status: PairStatus,
    sessionToken: HandedToken,
    claimedBy: z
      .object({
        name: z.string().optional().meta({ description: 'The name that the claimant gave itself. It proves nothing.', example: 'Ada' }),
      })
      .optional()
      .meta({ description: 'With `claimed`, for the client that holds svc_pair or the secret.', example: { name: 'Ada' } }),
  }),
  errors: ['pair_not_found'],
  misses: ['pair_not_found'],
  example:
    `token=$(curl -s -X POST $base/v1/pair/new -b cookies.txt -c cookies.txt -H 'content-type: application/json' | ` +
    `sed 's/.*"token":"\\([^"]*\\)".*/\\1/'); curl -s "$base/v1/pair/status?token=$token" -b cookies.txt -c cookies.txt`,
  async handle({ query, meta }, { scripts, sessions, topics, feeds, now }: StatusServices) {
    if (!mayBePairToken(query.token)) return refuse('pair_not_found');
    if (query.wait !== undefined) {
      const since = query.since === undefined ? undefined : positionOf(query.since);
      const found = await topics.wait(feeds.pair, query.token, {
        since,
        waitMs: Number(query.wait) * 1000,
        onFound: () => meta.found(),
        onGone: (callback) => meta.onGone(callback),
      });
      if (!found) return refuse('pair_not_found');
    }
    // A HEAD request gets no session, because its answer has no body for the token, and a pairing gives its session only once.
    const secretHashes = meta.isHead ? '' : givenSecrets(meta).map(secretHash).join(' ');
    const read = (claimantState: string) =>
      scripts.run(statusScript, { pair: pairKeys.pair(query.token) }, { now: now(), secretHashes, claimantState });
    let [word, ...figures] = await read('?');
    if (word === 'claimant_wanted') {
      const [accountId, generation, asks, userAgent, kind, signIn] = figures as [string, string, string, string, PairedKind, string];
      // The session is added to the account's list before the browser gets it. If the process dies in between, the next poll gives the
      // browser a session with the same id.
      const session = { accountId, id: sessionIdOf(generation, pairedSessionName(query.token)), kind, signIn, userAgent };
      [word, ...figures] = await read(await (asks === '1' ? listSession(session, { scripts, now }) : stateOf(accountId, scripts)));
    }
    if (word === 'claimant_wanted') throw new Error('status.lua answered claimant_wanted to a call with the claimant');
    if (word === 'pair_not_found') return refuse(word);
    if (word === 'claimed') return { status: word, ...(figures[0] === '1' ? claimedBy(figures[1]) : {}) };
    if (word !== 'signs_in') return { status: word };
    const [accountId, generation, sessionForm, name] = figures as [string, string, string, string];
    const id = sessionIdOf(generation, pairedSessionName(query.token));
    const session = sessions.start({ accountId, generation, kind: 'pairing', id });
    return handOver(
      { status: 'claimed' as const, ...claimedBy(name) },
      session,
      sessionForm === 'token' ? sessionForm : query.session,
      meta,
    );
  },
});

function claimedBy(name = ''): { claimedBy: { name?: string } } {
  return { claimedBy: name === '' ? {} : { name } };
}

/** Whether the claimant's account can still sign in, for a client that gets no session. `closed`: the account moved or was deleted. */
async function stateOf(accountId: string, scripts: CallerScripts): Promise<'open' | 'closed'> {
  const found = await settled(accountId, scripts);
  return found.accountId !== accountId || found.word === 'deleted' ? 'closed' : 'open';
}
