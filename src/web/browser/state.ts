import { byId } from './dom.ts';

/**
 * Milliseconds between an answer and the next request. Together with the wait for an answer this shows within two seconds that a service is
 * down.
 */
const EVERY_MS = 900;

/** Milliseconds after which a service that does not answer counts as down. */
const ANSWER_MS = 900;

/** Shows whether the service is ready, and the reason if it is not. */
export function showState(): void {
  byId('state-address').textContent = location.origin;
  const read = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      const response = await fetch('/ready', { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) });
      const body = (await response.json()) as { ok: boolean; error?: { message: string } };
      show(body.ok ? 'good' : 'bad', body.ok ? 'Ready' : 'Not ready', body.error?.message ?? GOOD);
      byId('state-ms').textContent = `${Math.max(1, Math.round(performance.now() - startedAt))} ms`;
    } catch {
      show('bad', 'Away', 'The service does not answer. This page asks again by itself.');
      byId('state-ms').textContent = '–';
    }
  };
  let isAsking = false;
  let next: ReturnType<typeof setTimeout>;
  const ask = async (): Promise<void> => {
    clearTimeout(next);
    if (document.hidden || isAsking) return;
    isAsking = true;
    await read();
    isAsking = false;
    next = setTimeout(() => void ask(), EVERY_MS);
  };
  void ask();
  document.addEventListener('visibilitychange', () => void ask());
}

const GOOD = 'Redis answers, and its settings keep coins safe.';

function show(kind: 'good' | 'bad', text: string, reason: string): void {
  byId('state-dot').className = `dot ${kind}`;
  // The text is set only if it changes, because a screen reader reads a live region again each time it is set.
  if (byId('state').textContent !== text) byId('state').textContent = text;
  byId('state-reason').textContent = reason;
}
