import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { invalid, refuse } from '../../errors.ts';
import { Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import { consoleCookie } from '../../server/identity/console-sessions.ts';
import { AddressText } from '../../stores/openid/code-flow.ts';
import { flowCookie } from './console-sign-in.ts';

type SignInServices = Pick<Services, 'consoleSignIn' | 'consoleSessions'>;

const ProviderName = z.string().max(32);

/** The endpoints may fetch four answers from the provider, for discovery, tokens, keys and userinfo, each within 3 s. */
const DEADLINE_MS = 20_000;

/**
 * The address of the console's page, as the browser sees it. Behind a proxy that ends TLS, the attributes of the cookies tell the scheme.
 */
function originOf({ origin, cookieScope: { secure } }: RequestMeta): string {
  return secure ? origin.replace(/^http:/, 'https:') : origin;
}

export const showProviders = endpoint({
  method: 'GET',
  path: '/console/sign-in',
  caller: 'none',
  summary: 'How operators sign in to the console: at the named providers, or with a server key if no provider is named.',
  reply: z.object({ providers: z.array(z.string()) }),
  example: '',
  handle: (_, { consoleSignIn }: SignInServices) => ({ providers: [...(consoleSignIn?.providers ?? [])] }),
});

export const beginSignIn = endpoint({
  method: 'POST',
  path: '/console/sign-in',
  caller: 'none',
  // A call may have to fetch the provider's discovery document.
  creates: true,
  summary: 'Begins the sign-in of a person to the console, or with `confirm` a fresh proof of who sits at the console.',
  body: z.object({ provider: ProviderName, confirm: z.boolean().optional() }),
  reply: z.object({ address: z.string() }),
  errors: ['invalid_request', 'forbidden', 'app_store_unavailable'],
  example: '',
  deadlineMs: DEADLINE_MS,
  async handle({ body: { provider, confirm = false }, meta }, { consoleSignIn, consoleSessions }: SignInServices) {
    // Otherwise another site could begin a sign-in, and replace the cookie of a sign-in that the user has begun.
    if (!meta.isFromConsole) return refuse('forbidden', { message: 'Only the page of the console may begin a sign-in.' });
    const { secure } = meta.cookieScope;
    const held = consoleSessions.heldBy(meta.cookie, secure);
    const begun = await consoleSignIn?.begin({ provider, confirm, origin: originOf(meta), secure, held });
    if (begun === undefined) return invalid('provider', 'Is no provider of CONSOLE_SIGN_IN');
    return new Reply({ address: begun.address }, { cookies: [begun.cookie] });
  },
});

/**
 * The endpoint to which a provider sends the browser back. It always leads on to the console's page, and never to an address from outside.
 */
export const finishSignIn = endpoint({
  method: 'GET',
  path: '/console/signed-in/{provider}',
  caller: 'none',
  // Each call may ask the provider.
  creates: true,
  summary: 'Ends the sign-in of a person to the console.',
  params: z.object({ provider: ProviderName }),
  query: z.object({ code: AddressText.optional(), state: AddressText.optional(), iss: AddressText.optional() }),
  reply: z.object({}),
  example: '',
  deadlineMs: DEADLINE_MS,
  async handle({ params: { provider }, query, meta }, { consoleSignIn, consoleSessions }: SignInServices) {
    const { secure } = meta.cookieScope;
    const given = { provider, query, cookies: meta.cookie, origin: originOf(meta), secure };
    const ended = meta.isHead ? 'stale' : ((await consoleSignIn?.finish(given, consoleSessions)) ?? 'stale');
    const place = typeof ended === 'object' ? '' : ended === 'confirmed' ? '#/confirmed' : `#/why/${ended}`;
    return new Reply(
      {},
      {
        status: 303,
        headers: [
          ['location', `/console${place}`],
          ['cache-control', 'no-store'],
          ['referrer-policy', 'no-referrer'],
        ],
        cookies: [
          ...(ended === 'stale' ? [] : [flowCookie('', secure)]),
          ...(typeof ended === 'object' ? [consoleCookie(ended.token, secure)] : []),
        ],
      },
    );
  },
});
