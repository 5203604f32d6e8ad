import type { Auditor } from '../../consistency/auditor.ts';

/** Knows the keys of the outboxes and of the log. */
export const eventsAuditor: Auditor = {
  keys: [
    { pattern: /^(?:\{[^}]+\})?outbox$/, type: 'list', life: 'lasts' },
    { pattern: /^\{events\}:state$/, type: 'hash', life: 'lasts' },
    { pattern: /^\{events\}:(?:chunks|forgotten)$/, type: 'zset', life: 'lasts' },
    { pattern: /^\{events\}:chunk:\d+$/, counted: 'chunks of events', type: 'list', life: 'lasts' },
  ],
};
