import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { USER_AGENT_LIMIT } from '../../accounts/session-list.ts';
import { onAnyPrimary } from '../../redis/any-primary.ts';
import { defineScript } from '../../redis/script.ts';
import { setCookie } from '../../server/identity/cookies.ts';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { SessionForm } from '../sessions/model.ts';
import {
  heldSecrets,
  MAX_HELD_SECRETS,
  newPairSecret,
  newPairToken,
  PAIR_COOKIE,
  PAIR_KEPT_SECONDS,
  PAIR_LIFE_SECONDS,
  pairingUrl,
  pairingIdOf,
  pairKeys,
  POLL_INTERVAL_SECONDS,
  secretHash,
} from './model.ts';

const openPairing = defineScript({
  file: new URL('new.lua', import.meta.url),
  keys: ['pair'],
  args: ['createdAt', 'lifeSeconds', 'keptSeconds', 'matchCode', 'secretHash', 'sessionForm', 'address', 'userAgent'],
  answers: ['opened'],
});

export const newPairing = endpoint({
  method: 'POST',
  path: '/v1/pair/new',
  operationId: 'openPairing',
  caller: 'none',
  summary: 'Opens a pairing: a token for a website to show as a QR code and an app to claim.',
  description:
    'Sets the HttpOnly cookie svc_pair. The claimed pairing gives its session only to a browser with this cookie: photographing the QR ' +
    'code is not enough. With `session:"token"` the answer sets no cookie and has a `secret` instead, for the header `x-pair-secret`. Show `matchCode` beside the QR code, so that people can see that both screens show the same pairing.',
  body: z.object({ session: SessionForm }),
  emptyBody: true,
  reply: z.object({
    token: z.string().meta({ example: 'Zl8yqvJ0c3T1mXbN4kRdW7aP' }),
    pairingId: z.string().meta({ description: 'Names the pairing in the event `pairing.claimed`.', example: '5f0d3c1b2a4e6f7890ab1c' }),
    secret: z.string().optional().meta({
      description:
        'With `session:"token"`: send it in the header `x-pair-secret` of `GET /v1/pair/status`. Keep it out of the QR code, and show it to nobody.',
    }),
    expiresIn: z.number().int().meta({ description: 'Seconds in which the pairing can be claimed.', example: 180 }),
    interval: z.number().int().meta({ description: 'Seconds between two polls.', example: 2 }),
    matchCode: z.string().meta({ description: 'Two digits, shown on both screens.', example: '42' }),
    url: z
      .string()
      .meta({ description: 'The content of the QR code.', example: 'https://play.example/pair?token=Zl8yqvJ0c3T1mXbN4kRdW7aP' }),
  }),
  creates: true,
  example: `curl -s -X POST $base/v1/pair/new -b cookies.txt -c cookies.txt -H 'content-type: application/json'`,
  async handle({ body: { session: sessionForm }, meta }, { scripts, config, now }: Pick<Services, 'scripts' | 'config' | 'now'>) {
    const secret = newPairSecret();
    const matchCode = String(randomInt(100)).padStart(2, '0');
    const open = async (token: string): Promise<string> => {
      await scripts.run(
        openPairing,
        { pair: pairKeys.pair(token) },
        {
          createdAt: now(),
          lifeSeconds: PAIR_LIFE_SECONDS,
          keptSeconds: PAIR_KEPT_SECONDS,
          matchCode,
          secretHash: secretHash(secret),
          sessionForm,
          address: meta.address,
          userAgent: meta.userAgent.slice(0, USER_AGENT_LIMIT),
        },
      );
      return token;
    };
    const token = await onAnyPrimary({ draw: newPairToken, keyOf: pairKeys.pair, run: open }, scripts);
    const pairing = {
      token,
      pairingId: pairingIdOf(token),
      expiresIn: PAIR_LIFE_SECONDS,
      interval: POLL_INTERVAL_SECONDS,
      matchCode,
      url: pairingUrl(config.PUBLIC_URL ?? meta.origin, token),
    };
    if (sessionForm === 'token') return { ...pairing, secret };
    const held = [secret, ...heldSecrets(meta.cookie)].slice(0, MAX_HELD_SECRETS).join('.');
    const life = { maxAgeSeconds: PAIR_LIFE_SECONDS + PAIR_KEPT_SECONDS, path: '/v1/pair' };
    return new Reply(pairing, { cookies: setCookie(PAIR_COOKIE, held, life, meta.cookieScope) });
  },
});
