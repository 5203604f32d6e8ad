import type { Result } from './routes.ts';
import { randomText, type Exclusive, type SafeStore } from './storage.ts';

/** The caller, as stored. */
export interface Me {
  /** A secret of the player. */
  installId: string;
  /** The session and its account. The token is a secret, which the player's client may show to a server of the game. */
  sessionToken?: string;
  accountId?: string;
  /** The session is the install's own, from `sessions.login`: both name the same account. */
  isOwn?: boolean;
  /** When the client last asked about the session, in milliseconds since 1970. */
  askedAt?: number;
  /** For each owner whose guest moved by a sign-in (`moved:true`): the account into which it moved. */
  moved?: Record<Owner, string>;
}

/** The owner of an operation: `i` and an installId, `a` and an account id, or `s` and a session token of an unknown account. */
export type Owner = string;
export type Credential = Record<string, string>;

export interface SessionReply {
  accountId?: string;
  sessionToken?: string;
}

const HOUR_MS = 3_600_000;

/** A session lives 30 days, and the service renews its token after half of that. */
const ASK_MS = 24 * HOUR_MS;

const byToken = (token: string): Credential => ({ authorization: `Bearer ${token}` });
const byInstall = (installId: string): Credential => ({ 'x-install-id': installId });

export type Identity = ReturnType<typeof identityOf>;

/**
 * The caller: the stored install and its session. Each tab that shares the store sees a sign-in at its next call.
 * @param given the installId of the options
 * @param ask calls `GET /v1/session`
 */
export function identityOf(
  store: SafeStore,
  name: string,
  exclusive: Exclusive,
  given: string | undefined,
  ask: (credential: Credential) => Promise<Result>,
) {
  let asked = -HOUR_MS;

  const read = async (): Promise<Me | undefined> => {
    try {
      const me = JSON.parse((await store.get(name))!) as Me;
      // Another installId belongs to another player.
      return me.installId === (given ?? me.installId) ? me : undefined;
    } catch {
      // The store has nothing under this key, or a text of another program.
      return undefined;
    }
  };

  const save = async (me: Me): Promise<Me> => {
    await store.put(name, JSON.stringify(me));
    return me;
  };

  /** Two tabs that start for the first time must end up with one installId. */
  const load = async (): Promise<Me> =>
    (await read()) ?? exclusive(name, async () => (await read()) ?? save({ installId: given ?? randomText() }));

  /** Asks about the session, and stores its account and its new token. */
  const renew = async (token: string): Promise<void> => {
    asked = performance.now();
    const { accountId, sessionToken = token } = (await ask(byToken(token))) as SessionReply;
    const me = await load();
    // Another sign-in or sign-out may have come in between.
    if (accountId && me.sessionToken === token)
      await save({
        ...me,
        accountId,
        sessionToken,
        askedAt: Date.now(),
        moved: { ...me.moved, ...(!me.accountId && { [`s${token}`]: accountId }) },
      });
  };

  return {
    load,

    install: async (): Promise<Credential> => byInstall((await load()).installId),

    /** The headers that name the caller. */
    async credential(): Promise<Credential> {
      const { installId, sessionToken, askedAt = 0 } = await load();
      if (!sessionToken) return byInstall(installId);
      // A clock that jumps, in either direction, costs one more request and no delay.
      if (Math.abs(Date.now() - askedAt) > ASK_MS && performance.now() - asked >= HOUR_MS) void renew(sessionToken);
      return byToken(sessionToken);
    },

    async owner(): Promise<Owner> {
      const { installId, sessionToken, accountId, isOwn } = await load();
      if (!sessionToken || isOwn) return `i${installId}`;
      return accountId ? `a${accountId}` : `s${sessionToken}`;
    },

    /** The headers for an operation of the owner. Undefined: only a sign-in can send it. */
    async credentialOf(owner: Owner): Promise<Credential | undefined> {
      const { sessionToken, accountId, moved } = await load();
      const into = moved?.[owner] ?? (owner[0] === 'a' && owner.slice(1));
      if (!into) return (owner[0] === 's' ? byToken : byInstall)(owner.slice(1));
      return sessionToken && accountId === into ? byToken(sessionToken) : undefined;
    },

    /**
     * Keeps the session of a sign-in.
     * @param movedFrom the owner that moved into the account with the sign-in
     */
    async signedIn({ sessionToken, accountId }: SessionReply, isOwn: boolean, movedFrom?: Owner): Promise<void> {
      const { installId, moved } = await load();
      const into = movedFrom && { [movedFrom]: accountId! };
      await save({
        installId,
        sessionToken,
        accountId,
        isOwn,
        askedAt: accountId && Date.now(),
        moved: { ...moved, ...(into as object) },
      } as Me);
      if (!accountId) await renew(sessionToken!);
    },

    /**
     * Forgets the session. An install whose account moved gives no access any more, so a new install replaces it.
     * @param isDeleted the install's own account was deleted
     */
    async signedOut(isDeleted?: boolean): Promise<void> {
      const { installId, moved } = await load();
      await save({ installId: (isDeleted || moved?.[`i${installId}`]) && !given ? randomText() : installId, moved });
    },
  };
}
