import { copyService, type Change } from './unguarded.ts';

/** The event is written by a separate command after the script: if the process dies in between, the event is lost. */
const AFTER_THE_SCRIPT: readonly Change[] = [
  {
    file: 'src/redis/outbox.ts',
    from: "    redis.call('RPUSH', ${tag}'${OUTBOX}', time[1]",
    to: '    answers[calls + 1] = (time[1]',
  },
  {
    file: 'src/redis/script-batches.ts',
    from: '      (answers) => this.#settle(batch.script, batch.calls, answers),',
    to: `      async (answers) => {
        const late = (answers as unknown[])[batch.calls.length];
        // Stands for other work of the process in between.
        await new Promise((resolve) => setTimeout(resolve, 2));
        if (typeof late === 'string') await this.#parts.connection.call('EVAL', ["return redis.call('RPUSH', 'outbox', ARGV[1])", 0, late]);
        this.#settle(batch.script, batch.calls, answers);
      },`,
  },
];

/** The cursor is the time of the last event, so it may fall between events of one millisecond. */
const CURSOR_BY_TIME: readonly Change[] = [
  {
    file: 'src/features/events/events.ts',
    from: 'return { events: page.events, cursor: page.next.toString(36) };',
    to: 'return { events: page.events, cursor: (page.events.length === 0 ? after : Date.parse(page.events.at(-1)!.at)).toString(36) };',
  },
  {
    file: 'src/features/events/events.ts',
    from: 'let page = await log.read(after, limit, types);',
    to: `let place = after < 1e12 ? after : await log.positionAt(after);
  let page = await log.read(place, 1000, types);
  for (;;) {
    const later = page.events.filter(({ at }) => Date.parse(at) > after || after < 1e12);
    if (later.length > 0 || page.isEnd) return { ...page, events: later.slice(0, limit) };
    place = page.next;
    page = await log.read(place, 1000, types);
  }`,
  },
];

/** @returns the copy's main.ts */
export function copyLate(folder: string): string {
  return copyService(folder, AFTER_THE_SCRIPT);
}

/** @returns the copy's main.ts */
export function copyByTime(folder: string): string {
  return copyService(folder, CURSOR_BY_TIME);
}
