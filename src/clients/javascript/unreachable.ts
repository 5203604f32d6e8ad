import type { Result } from './routes.ts';

/** Milliseconds between two looks for the cause of a failure. */
const AGAIN_MS = 30_000;

/** Milliseconds after which a service that does not answer counts as down. */
const WAIT_MS = 2000;

interface Page {
  location?: { origin: string };
  document?: unknown;
  fetch: (url: string, init: { mode: 'cors' | 'no-cors'; credentials: 'omit' }) => Promise<unknown>;
}

/**
 * Explains failures of requests. A browser hides from a page why its request failed: a service that does not allow the page's origin looks
 * like one that is down. A request whose answer the page may not read tells them apart.
 * @returns gives a failed result with its cause, if the cause is known
 */
export function causeOf(page: unknown, url: string, warn: (message: string) => void): (result: Result) => Result {
  const { location, document, fetch } = page as Page;
  let lookedAt = -AGAIN_MS;
  let cause: string | undefined;
  let warned: string | undefined;
  const isAnswered = (mode: 'cors' | 'no-cors'): Promise<boolean> => {
    const answer = fetch(`${url}/health`, { mode, credentials: 'omit' }).then(
      () => true,
      () => false,
    );
    return Promise.race([answer, new Promise<boolean>((resolve) => setTimeout(resolve, WAIT_MS, false))]);
  };
  const look = async (): Promise<void> => {
    lookedAt = performance.now();
    cause = undefined;
    if (!(await isAnswered('no-cors')) || (await isAnswered('cors'))) return;
    cause = `${url} answers, but not to pages of ${location!.origin}: add this origin to the setting ALLOWED_ORIGINS of the service.`;
    if (cause !== warned) warn((warned = cause));
  };
  return (result) => {
    if (result.ok) cause = undefined;
    if (result.ok || result.error.code !== 'network' || !document || !location || location.origin === url) return result;
    // The failure is not kept waiting for its cause: the next one has it.
    if (performance.now() - lookedAt > AGAIN_MS) void look();
    return cause ? { ...result, error: { ...result.error, message: cause } } : result;
  };
}
