import type { Auditor, Finding, Probe } from '../consistency/auditor.ts';
import { takenGrant } from '../features/coins/take-back-key.ts';
import { CORRECTED_KEYS } from './coin-limits.ts';
import { ANSWER_KEYS, isAnswer, isRequest, REQUEST_KEYS } from './two-person/requests.ts';
import { OPERATOR_LOG, readEntry } from './operator-log.ts';

const subject = (): string => `key ${OPERATOR_LOG}`;

/**
 * Checks that each entry of the operators' log can be read, and that the log has an entry for each change of coins by an operator.
 * @param operated the idempotency keys of ledger entries that operators made, with an account that has such an entry. The auditor of the
 * ledgers has all of them once all keys were read
 */
export function operatorLogAuditor(operated: ReadonlyMap<string, string>): Auditor {
  return {
    keys: [
      {
        pattern: /^\{operator-log\}$/,
        type: 'list',
        life: 'lasts',
        texts: {
          what: 'list',
          isRight: (text) => readEntry(text) !== undefined,
          counted: 'operator log entries',
          kind: 'unreadable_log',
          subject,
        },
      },
      { pattern: CORRECTED_KEYS, type: 'hash', life: 'ends' },
      {
        pattern: REQUEST_KEYS,
        type: 'hash',
        life: 'lasts',
        texts: { what: 'request', isRight: isRequest, kind: 'unreadable_log', subject },
      },
      {
        pattern: ANSWER_KEYS,
        type: 'hash',
        life: 'lasts',
        texts: { what: 'answer to a request', isRight: isAnswer, kind: 'unreadable_log', subject },
      },
    ],
    last: (probe) => checkLogged(operated, probe),
  };
}

/** Entries that one command reads. */
const PAGE = 500;

/** Checks that the log has an entry for each key of a change. A change happens only after its entry is written. */
async function checkLogged(operated: ReadonlyMap<string, string>, probe: Probe): Promise<Finding[]> {
  const left = new Map(operated);
  for (let start = 0, isLast = false; !isLast && left.size > 0; start += PAGE) {
    const texts = (await probe.ask('LRANGE', OPERATOR_LOG, start, start + PAGE - 1)) as string[];
    for (const text of texts) {
      const { action, what } = readEntry(text) ?? {};
      const key = String(what?.['key']);
      left.delete(action === 'coins take-back' ? takenGrant(key) : key);
    }
    isLast = texts.length < PAGE;
  }
  const [[key, accountId] = []] = left;
  if (key === undefined) return [];
  const more = left.size === 1 ? '' : ` The same holds for ${left.size - 1} more.`;
  const text = `It lacks the change by which an operator made the entry with the key "${key}" of account ${accountId}.${more}`;
  // If an entry of the log cannot be read, it may be the entry of this change.
  return [{ kind: 'unlogged_change', subject: subject(), text, explainedBy: [`account ${accountId}`, subject()] }];
}
