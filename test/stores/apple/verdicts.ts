import { X509Certificate } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pino } from 'pino';
import type { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { Refusal } from '../../../src/errors.ts';
import { Metrics } from '../../../src/server/metrics.ts';
import { AppleStore } from '../../../src/stores/apple/apple-store.ts';
import { BUNDLE_ID } from './issuer.ts';
import type { MutatedText } from './mutated-texts.ts';
import { APP_ID } from './text-draft.ts';

type Kind = MutatedText['kind'];

/** Whether a text is taken. */
export type Verdict = (text: string, kind: Kind) => Promise<boolean>;

/** In place of Redis: nothing is known of any purchase. */
const forgetful = {
  run: async ({ name }: { readonly name: string }, _: unknown, args: { readonly transaction?: string }) =>
    name === 'apple/keep-newest' ? ['newest', args.transaction, ''] : ['kept', '', ''],
} as unknown as ScriptRunner;

/** The verdict of coinop: of the classes that the service uses, without Redis. */
export function coinopVerdict(root: Buffer): Verdict {
  const roots = [new X509Certificate(root)];
  const store = new AppleStore({
    ...{ log: pino({ level: 'silent' }), now: Date.now, wallClock: Date.now, monotonic: () => performance.now() },
    ...{ scripts: forgetful, metrics: new Metrics() },
    settings: () => ({ bundleIds: [BUNDLE_ID], appIds: [APP_ID], tellsUse: false, api: undefined, roots: () => roots }),
  });
  return async (text, kind) => {
    if (kind === 'notification') return (await refusable(store.notifications!.read({ signedPayload: text }, ''))) !== undefined;
    const answers = [await refusable<unknown>(store.products.read(text)), await refusable<unknown>(store.subscriptions.read(text))];
    return answers.some((answer) => typeof answer === 'object');
  };
}

/** @returns undefined if the text is refused */
async function refusable<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'bad_token') return undefined;
    throw error;
  }
}

/** The part of `@apple/app-store-server-library` that verifies. */
export interface AppleVerifier {
  verifyAndDecodeTransaction(text: string): Promise<object>;
  verifyAndDecodeRenewalInfo(text: string): Promise<object>;
  verifyAndDecodeNotification(
    text: string,
  ): Promise<{ readonly data?: { readonly signedTransactionInfo?: string; readonly signedRenewalInfo?: string } }>;
}

export interface AppleLibrary {
  readonly SignedDataVerifier: new (
    roots: Buffer[],
    isOnline: boolean,
    environment: string,
    bundleId: string,
    appId: number,
  ) => AppleVerifier;
  readonly VerificationStatus: Readonly<Record<'INVALID_APP_IDENTIFIER' | 'INVALID_ENVIRONMENT', number>>;
}

/** @param folder in which npm has installed the library */
export function appleLibraryIn(folder: string): AppleLibrary {
  return createRequire(join(folder, 'package.json'))('@apple/app-store-server-library') as AppleLibrary;
}

/** The verdict of Apple's library, as a service uses it that takes production and the sandbox. Of a notification it checks all texts. */
export function libraryVerdict({ SignedDataVerifier, VerificationStatus }: AppleLibrary, root: Buffer): Verdict {
  const verifiers = ['Production', 'Sandbox'].map((environment) => new SignedDataVerifier([root], false, environment, BUNDLE_ID, APP_ID));
  /** @returns the status of the refusal; undefined: the text is taken */
  const refusalOf = async (verifier: AppleVerifier, text: string, kind: Kind): Promise<number | undefined> => {
    try {
      if (kind === 'transaction') return void (await verifier.verifyAndDecodeTransaction(text));
      const { data: { signedTransactionInfo: transaction, signedRenewalInfo: renewal } = {} } =
        await verifier.verifyAndDecodeNotification(text);
      if (transaction !== undefined) await verifier.verifyAndDecodeTransaction(transaction);
      if (renewal !== undefined) await verifier.verifyAndDecodeRenewalInfo(renewal);
      return undefined;
    } catch (error) {
      return (error as { status?: number }).status ?? NaN;
    }
  };
  return async (text, kind) => {
    for (const verifier of verifiers) {
      const refusal = await refusalOf(verifier, text, kind);
      if (refusal === undefined) return true;
      // For any other reason the other environment refuses it too.
      if (refusal !== VerificationStatus.INVALID_APP_IDENTIFIER && refusal !== VerificationStatus.INVALID_ENVIRONMENT) return false;
    }
    return false;
  };
}
