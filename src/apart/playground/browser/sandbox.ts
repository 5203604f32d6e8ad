import type { Problem } from '../../../web/browser/problems.ts';
import type { Sold } from './shops.ts';
import type { Wire } from './wire.ts';

/** The things that the sandbox issues: a purchase in a store, or the token of a sign-in. */
type Issued = ({ readonly ok: true; readonly token: string } & Sold) | { readonly ok: false; readonly error: Problem };

/**
 * Makes the sandbox issue what an app would get from a store or from a sign-in provider. The client library has no method for the sandbox.
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
