import type { Auditor } from '../../consistency/auditor.ts';

/** Knows the keys of the outboxes and of the log. */
export const eventsAuditor: Auditor = {
  keys: [
    { pattern: /^(?:\{[^}]+\})?outbox$/, life: 'lasts' },
    { pattern: /^\{events\}:(?:state|chunks|forgotten)$/, life: 'lasts' },
    { pattern: /^\{events\}:chunk:\d+$/, counted: 'chunks of events', life: 'lasts' },
  ],
};
