import type { Auditor } from '../../consistency/auditor.ts';

/** Names the Redis keys of the outboxes and of the log, so that the audit knows them. */
export const eventsAuditor: Auditor = {
  keys: [
    { pattern: /^(?:\{[^}]+\})?outbox$/, type: 'list', life: 'lasts' },
    { pattern: /^\{events\}:state$/, type: 'hash', life: 'lasts' },
    { pattern: /^\{events\}:(?:chunks|forgotten)$/, type: 'zset', life: 'lasts' },
    { pattern: /^\{events\}:chunk:\d+$/, counted: 'chunks of events', type: 'list', life: 'lasts' },
  ],
};
