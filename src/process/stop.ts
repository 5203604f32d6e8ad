import type { Logger } from 'pino';

/** Orchestrators send SIGKILL after 30 s. A stop that hangs ends itself before, with exit code 1. */
const STOP_LIMIT_MS = 25_000;

/** Calls `stop` once at the first signal to end, then ends the process. */
export function onStop(log: Logger, stop: () => Promise<void>): void {
  let stopping = false;
  const end = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
  // SIGHUP: the terminal was closed.
  process.on('SIGHUP', () => end('SIGHUP'));
}
