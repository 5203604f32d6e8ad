import { byId } from './dom.ts';

const EVERY_MS = 10_000;

/** Shows whether the service is ready, and why not. */
export function showState(): void {
  byId('state-address').textContent = location.origin;
  const read = async (): Promise<void> => {
    if (document.hidden) return;
    const startedAt = performance.now();
    try {
      const response = await fetch('/ready', { cache: 'no-store' });
      const body = (await response.json()) as { ok: boolean; error?: { message: string } };
      show(body.ok ? 'good' : 'bad', body.ok ? 'Ready' : 'Not ready', body.error?.message ?? GOOD);
      byId('state-ms').textContent = `${Math.max(1, Math.round(performance.now() - startedAt))} ms`;
    } catch {
      show('bad', 'Away', 'The service does not answer. This page asks again by itself.');
      byId('state-ms').textContent = '–';
    }
  };
  void read();
  setInterval(() => void read(), EVERY_MS);
  document.addEventListener('visibilitychange', () => void read());
}

const GOOD = 'Redis answers, and its settings keep coins safe.';

function show(kind: 'good' | 'bad', text: string, reason: string): void {
  byId('state-dot').className = `dot ${kind}`;
  // Set only if the text changes, because a screen reader reads a live region again each time it is set.
  if (byId('state').textContent !== text) byId('state').textContent = text;
  byId('state-reason').textContent = reason;
}
