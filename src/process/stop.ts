import type { Logger } from 'pino';

/**
 * The longest time that a stop may take, in milliseconds. Then the process ends with exit code 1. Orchestrators send SIGKILL after 30 s.
 */
const STOP_LIMIT_MS = 25_000;

/** Calls `stop` at the first SIGTERM, SIGINT or SIGHUP, and ends the process when `stop` is done. */
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
  // SIGHUP comes when the user has closed the terminal.
  process.on('SIGHUP', () => end('SIGHUP'));
}
