import type { Result } from './routes.ts';
import { randomText, type Exclusive, type SafeStore } from './storage.ts';

/** The caller, as the store has it. */
export interface Me {
  /** The id of the install, which is a secret of the player. */
  installId: string;
  /** The session and its account. The session token is a secret, which the player's client may show to a server of the game. */
  sessionToken?: string;
  accountId?: string;
  /** Whether the session is the install's own, from `sessions.login`: session and install then name the same account. */
  isOwn?: boolean;
  /** When the client last asked the service about the session, in milliseconds since 1970. */
  askedAt?: number;
  /** For each owner whose guest account moved by a sign-in (`moved:true`): the account into which it moved. */
  moved?: Record<Owner, string>;
}

/** Who made an operation: `i` and an installId, `a` and an account id, or `s` and the token of a session whose account is not known yet. */
export type Owner = string;
export type Credential = Record<string, string>;

export interface SessionReply {
  accountId?: string;
  sessionToken?: string;
}

const HOUR_MS = 3_600_000;

/**
 * The interval, in milliseconds, at which the client asks the service about the session. A session lives 30 days, and the service renews
 * its token after half of that.
 */
const ASK_MS = 24 * HOUR_MS;

const byToken = (token: string): Credential => ({ authorization: `Bearer ${token}` });
const byInstall = (installId: string): Credential => ({ 'x-install-id': installId });

export type Identity = ReturnType<typeof identityOf>;

/**
 * The caller: the stored install and its session. Each tab that shares the store sees a sign-in at its next call.
 * @param given the installId of the options
 * @param warn called when the store has lost the caller
 * @param ask calls `GET /v1/session`
 */
export function identityOf(
  store: SafeStore,
  name: string,
  exclusive: Exclusive,
  given: string | undefined,
  warn: (message: string) => void,
  ask: (credential: Credential) => Promise<Result>,
) {
  let asked = -HOUR_MS;
  /** The caller as this page last read or wrote it, because somebody may empty the store meanwhile. */
  let known: Me | undefined;

  const read = async (): Promise<Me | undefined> => {
    try {
      const me = JSON.parse((await store.get(name))!) as Me;
      // If the options give another installId than the stored one, the stored data belongs to another player.
      if (me.installId === (given ?? `${me.installId}`)) return (known = me);
    } catch {
      // The store has nothing under this key, or the text of another program.
    }
    return undefined;
  };

  const save = async (me: Me): Promise<Me> => {
    known = me;
    await store.put(name, JSON.stringify(me));
    return me;
  };

  /** Makes the caller, or writes the caller of this page again. */
  const make = (): Promise<Me> => {
    if (known && !store.isUnread(name)) warn('coinop: the store was emptied');
    return save(known ?? { installId: given ?? randomText() });
  };

  /** The stored caller, or a new install. Two tabs that start for the first time must end up with one installId, so they take turns. */
  const load = async (): Promise<Me> => (await read()) ?? exclusive(name, async () => (await read()) ?? make());

  /** Asks the service about the session, and stores the account and the new token from the answer. */
  const renew = async (token: string): Promise<void> => {
    asked = performance.now();
    const { accountId, sessionToken = token } = (await ask(byToken(token))) as SessionReply;
    const me = await load();
    // The result is dropped if another sign-in or sign-out came in the meantime.
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

    /** The request headers that name the caller. */
    async credential(): Promise<Credential> {
      const { installId, sessionToken, askedAt = 0 } = await load();
      if (!sessionToken) return byInstall(installId);
      // The time is checked by two clocks: if the clock of the device jumps, in either direction, that costs one more request and no delay.
      if (Math.abs(Date.now() - askedAt) > ASK_MS && performance.now() - asked >= HOUR_MS) void renew(sessionToken);
      return byToken(sessionToken);
    },

    async owner(): Promise<Owner> {
      const { installId, sessionToken, accountId, isOwn } = await load();
      if (!sessionToken || isOwn) return `i${installId}`;
      return accountId ? `a${accountId}` : `s${sessionToken}`;
    },

    /** The request headers for an operation of this owner. Undefined: the operation can only be sent after a sign-in. */
    async credentialOf(owner: Owner): Promise<Credential | undefined> {
      const { sessionToken, accountId, moved } = await load();
      const into = moved?.[owner] ?? (owner[0] === 'a' && owner.slice(1));
      if (!into) return (owner[0] === 's' ? byToken : byInstall)(owner.slice(1));
      return sessionToken && accountId === into ? byToken(sessionToken) : undefined;
    },

    /** Keeps the session of a sign-in. @param movedFrom the owner whose guest account moved into the account by the sign-in */
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
     * Forgets the session. If the account of the install moved, its installId gives no access any more, so the client makes a new one.
     * @param isDeleted whether the install's own account was deleted
     */
    async signedOut(isDeleted?: boolean): Promise<void> {
      const { installId, moved } = await load();
      await save({ installId: (isDeleted || moved?.[`i${installId}`]) && !given ? randomText() : installId, moved });
    },
  };
}
