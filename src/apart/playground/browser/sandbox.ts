import type { Problem } from '../../../web/browser/problems.ts';
import type { Sold } from './shops.ts';
import type { Wire } from './wire.ts';

/** What the sandbox issues: what a store sold, or the token of a sign-in. */
type Issued = ({ readonly ok: true; readonly token: string } & Sold) | { readonly ok: false; readonly error: Problem };

/**
 * Has the sandbox issue what an app would get from a store, or from the provider of a sign-in. The client library has no call for the
 * sandbox.
 */
export async function issue(wire: Wire, order: { readonly kind: string } & Readonly<Record<string, unknown>>): Promise<Issued> {
  try {
    const response = await wire.fetch(`${location.origin}/sandbox/issue`, {
      method: 'POST',
      credentials: 'omit',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    });
    return (await response.json()) as Issued;
  } catch {
    return { ok: false, error: { code: 'network', message: '' } };
  }
}
