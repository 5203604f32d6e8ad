import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { parsePerson, PERSON_ID } from './people.ts';
import { KEY_ID, parseServerKey, SERVER_KEYS, SERVER_KEYS_USED } from './server-key-record.ts';

const subject = (_parts: readonly string[], id: string): string => `server key ${id}`;

/** Checks that the record of each server key can be read, and that every recorded use belongs to a key that exists. */
export const serverKeyAuditor: Auditor = {
  keys: [
    {
      pattern: /^\{server-keys\}$/,
      type: 'hash',
      life: 'lasts',
      texts: {
        what: 'record',
        isRight: (text, id) => KEY_ID.test(id) && parseServerKey(text) !== undefined,
        counted: 'server keys',
        kind: 'unreadable_key',
        subject,
      },
    },
    {
      pattern: /^\{server-keys\}:used$/,
      type: 'hash',
      texts: { what: 'last use', isRight: (text) => /^\d{1,15}$/.test(text), kind: 'wrong_use', subject },
      check: (_parts, probe) => checkUses(probe),
    },
    {
      pattern: /^\{console-people\}$/,
      type: 'hash',
      life: 'lasts',
      texts: {
        what: 'record',
        isRight: (text, id) => PERSON_ID.test(id) && parsePerson(text) !== undefined,
        counted: 'people of the console',
        kind: 'unreadable_key',
        subject: (_parts, id) => `person ${id}`,
      },
    },
  ],
};

async function checkUses(probe: Probe): Promise<Finding[]> {
  const [records, uses] = (await probe.together(['HGETALL', SERVER_KEYS], ['HGETALL', SERVER_KEYS_USED])).map(fieldsOf);
  if (records!.size === 0 && uses!.size > 0)
    return [
      {
        kind: 'lost_server_keys',
        subject: `key ${SERVER_KEYS}`,
        text: 'Keys were used, but no record of a key is left: no key gives access any more.',
      },
    ];
  const lost = [...uses!.keys()].filter((id) => !records!.has(id));
  return lost.map((id) => ({ kind: 'orphan_use', subject: subject([], id), text: 'It was used, but there is no such key.' }));
}

function fieldsOf(reply: unknown): Map<string, string> {
  return new Map(pairsOf(reply as string[]));
}
