import { expect } from 'vitest';
import { freshId, type TestReply, type TestService } from '../../harness.ts';
import { issue } from '../../store.ts';

/** A user of a provider. */
export interface Who {
  readonly provider: string;
  readonly subject: string;
}

export interface SignedIn extends Who {
  readonly accountId: string;
  readonly cookies: string;
}

export const person = (provider = 'google'): Who => ({ provider, subject: freshId('subject') });

/** People who sign in to a service with providers of its sandbox, and who have several sign-ins. */
export function peopleOf(service: TestService) {
  const tokenOf = async (who: Who, more: object = {}): Promise<string> =>
    (await issue(service, { kind: 'id_token', ...who, ...more })).token;

  async function enter(who: Who, more: object = {}): Promise<SignedIn & { created: boolean }> {
    const { status, body, cookies } = await service.post('/v1/account/store-provision', { token: await tokenOf(who), ...more });
    expect([status, body.error]).toEqual([200, undefined]);
    const { accountId, created } = body;
    return { ...who, accountId, created, cookies: cookies.find((cookie) => cookie.startsWith('svc_session='))! };
  }

  const nonceOf = async ({ cookies }: SignedIn): Promise<string> =>
    (await service.post('/v1/account/sign-ins/nonce', {}, { cookies })).body.nonce;

  /** Adds a sign-in, with a new nonce and a new proof unless others are given. @param who the user, or a token of the user */
  async function add(
    to: SignedIn,
    who: Who | { readonly token: string },
    more: { nonce?: string | undefined; confirm?: string; proof?: string | undefined } = {},
    on = service,
  ): Promise<TestReply> {
    const token = 'token' in who ? who.token : await tokenOf(who, { nonce: 'nonce' in more ? more.nonce : await nonceOf(to) });
    const proof = 'proof' in more ? more.proof : await tokenOf(to);
    return on.post('/v1/account/sign-ins', { token, proof, confirm: more.confirm }, { cookies: to.cookies });
  }

  /** Merges the account of a sign-in, in two calls with one nonce. */
  async function merge(to: SignedIn, who: Who): Promise<TestReply> {
    const nonce = await nonceOf(to);
    const { body } = await add(to, who, { nonce });
    expect(body.error?.code).toBe('sign_in_taken');
    return add(to, who, { nonce, confirm: body.error.confirm });
  }

  return { tokenOf, enter, nonceOf, add, merge };
}
