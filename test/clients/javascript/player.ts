import { vi } from 'vitest';
import { coinop, type Client, type Operation, type Options, type Result } from '../../../src/clients/javascript/client.ts';
import { freshId } from '../../harness.ts';

/** A store of a test. It outlives the clients that use it, as localStorage outlives pages. */
export class TestStore {
  readonly kept = new Map<string, string>();
  getItem = (key: string): string | undefined => this.kept.get(key);
  setItem = (key: string, value: string): void => void this.kept.set(key, value);
  removeItem = (key: string): void => void this.kept.delete(key);
  getAllKeys = (): string[] => [...this.kept.keys()];

  /** The number of operations in the outbox. */
  get operations(): number {
    return this.getAllKeys().filter((key) => key.includes(':op:')).length;
  }
}

export interface Player extends Client, Disposable {
  readonly kept: TestStore;
  /** The arguments of the calls of `onOperation`. */
  readonly settled: [Operation, Result][];
  readonly warnings: string[];
}

/** A client that is closed at the end of the test. */
export function player(url: string, options: Partial<Options> = {}, store = new TestStore()): Player {
  const settled: [Operation, Result][] = [];
  const warnings: string[] = [];
  const client = coinop({
    url,
    store,
    installId: options.store === undefined && !store.kept.has('coinop:me') ? freshId() : undefined,
    onOperation: (...each) => void settled.push(each),
    onWarning: (message) => void warnings.push(message),
    ...options,
  });
  return Object.assign(client, { kept: store, settled, warnings, [Symbol.dispose]: () => client.close() });
}

/** Gives the client the sessionStorage of a tab, until `vi.unstubAllGlobals`. */
export function stubSessionStorage(kept: Map<string, string>): void {
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  });
}

/** The reply to a call that succeeds. */
export async function done<R extends { ok: boolean }>(call: Promise<R>): Promise<R & { ok: true }> {
  const reply = await call;
  if (!reply.ok) throw new Error(JSON.stringify(reply));
  return reply as R & { ok: true };
}
