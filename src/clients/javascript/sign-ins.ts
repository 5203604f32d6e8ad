import type { Credential, Identity, SessionReply } from './identity.ts';
import type { Input } from './request.ts';
import type { CallOptions, Result } from './routes.ts';
import type { Route } from './wire.ts';

/**
 * Sends a request, again and again until it has an answer or its time is up.
 * @param credential gives the headers of the caller, before each try. Its signal aborts at the end of the call
 * @param tryMs milliseconds of one try
 */
export type Send = (
  route: Route,
  input: Input,
  more: CallOptions,
  credential: (whole: AbortSignal) => Promise<Credential>,
  tryMs?: number,
) => Promise<Result>;

/** A call that does more than send a request. */
export type SpecialCall = (route: Route, input: Input, more: CallOptions) => Promise<Result>;

/** The routes of these calls, which `routes.ts` leaves out. */
const own: Record<string, Route> = {
  resolve: 'POST /v1/account/resolve',
  delete: 'POST /v1/account/delete',
  login: 'POST /v1/login',
  logout: 'POST /v1/logout',
  end: 'POST /v1/sessions/end',
  open: 'POST /v1/pair/new',
  status: 'GET /v1/pair/status',
  provision: 'POST /v1/account/store-provision',
  add: '!POST /v1/account/sign-ins',
  remove: 'POST /v1/account/sign-ins/remove',
};

/**
 * The calls that change the caller, such as sign-ins, by name.
 * @param changed called when the caller has changed
 */
export function signIns(call: Send, identity: Identity, changed: () => void): Record<string, SpecialCall> {
  const { credential, install } = identity;

  const signIn = async (reply: Result, isOwn: boolean, movedFrom?: string): Promise<Result> => {
    if ((reply as SessionReply).sessionToken) {
      await identity.signedIn(reply as SessionReply, isOwn, movedFrom);
      changed();
    }
    return reply;
  };

  /** Makes the calls that end the session or the account. The first of the two answers to `delete` has a `confirm`, and ends nothing. */
  const leave =
    (by: () => Promise<Credential>) =>
    async (route: Route, input: Input, more: CallOptions): Promise<Result> => {
      const reply = await call(route, input, more, by);
      if (reply.ok ? !('confirm' in reply) : reply.error.code === 'account_deleted') {
        await identity.signedOut(by === install && !input['token']);
        changed();
      }
      return reply;
    };

  // The function is also called for `rooms.end`, which has the same name. The reply of `rooms.end` has no `current`.
  const end: SpecialCall = async (route, input, more) => {
    let tries = 0;
    const reply = await call(route, input, more, () => (tries++, credential()));
    // If a session ends itself and the answer is lost, the repetition is refused with `session_required`.
    if (reply.ok ? (reply as { current?: boolean }).current : tries > 1 && reply.error.code === 'session_required') {
      await identity.signedOut();
      changed();
    }
    return reply;
  };

  const calls: Record<string, SpecialCall> = {
    resolve: (route, input, more) => call(route, input, more, install),
    login: async (route, input, more) => signIn(await call(route, { ...input, session: 'token' }, more, install), true),
    logout: leave(credential),
    delete: leave(install),
    end,
    // A removed sign-in ends its sessions, the caller's own among them if it began with it.
    remove: end,
    // One try may take 12 s: the service may need 10 s, because it asks two providers.
    add: (route, input, more) => call(route, input, more, credential, 12_000),
    async provision(route, input, more) {
      const owner = await identity.owner();
      let tries = 0;
      const by = (): Promise<Credential> => (tries++, credential());
      // One try may take 12 s: the service may need 10 s, because it asks the app store.
      const reply = await call(route, { ...input, session: 'token' }, more, by, 12_000);
      const { moved, notMoved, accountId } = reply as { moved?: boolean; notMoved?: string; accountId?: string };
      // If the answer was lost, the guest may already have moved. The repetition then answers with neither `moved` nor `notMoved`.
      return signIn(reply, false, moved || (tries > 1 && !notMoved && owner !== `a${accountId}`) ? owner : undefined);
    },
    open: (route, input, more) => call(route, { ...input, session: 'token' }, more, async () => ({})),
    status: async (route, { secret, ...input }, more) =>
      signIn(await call(route, input, more, async () => (secret ? { 'x-pair-secret': secret as string } : ({} as Credential))), false),
  };
  return Object.fromEntries(
    Object.entries(calls).map(([name, run]) => [name, (_route: Route, input: Input, more: CallOptions) => run(own[name]!, input, more)]),
  );
}
