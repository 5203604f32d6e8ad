import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { KEY_ID, parseServerKey, SERVER_KEYS, SERVER_KEYS_USED } from './server-key-record.ts';

/** Checks that the record of each server key can be read, and that every recorded use belongs to a key that exists. */
export const serverKeyAuditor: Auditor = {
  keys: [
    { pattern: /^\{server-keys\}$/, type: 'hash', life: 'lasts', check: (_parts, probe) => checkRecords(probe) },
    { pattern: /^\{server-keys\}:used$/, type: 'hash', check: (_parts, probe) => checkUses(probe) },
  ],
};

async function checkRecords(probe: Probe): Promise<Finding[]> {
  const records = fieldsOf(await probe.ask('HGETALL', SERVER_KEYS));
  probe.count('server keys', records.size);
  return [...records].flatMap(([id, text]) => {
    if (KEY_ID.test(id) && parseServerKey(text) !== undefined) return [];
    return [{ kind: 'unreadable_key', subject: `server key ${id}`, text: 'Its record cannot be read: the key opens nothing.' }];
  });
}

async function checkUses(probe: Probe): Promise<Finding[]> {
  const [records, uses] = (await probe.together(['HGETALL', SERVER_KEYS], ['HGETALL', SERVER_KEYS_USED])).map(fieldsOf);
  if (records!.size === 0 && uses!.size > 0)
    return [
      { kind: 'lost_server_keys', subject: `key ${SERVER_KEYS}`, text: 'Keys were used, and no key has a record: none opens anything.' },
    ];
  return [...uses!].flatMap(([id, at]) => {
    const subject = `server key ${id}`;
    if (!records!.has(id)) return [{ kind: 'orphan_use', subject, text: 'It was used, but there is no such key.' }];
    return /^\d{1,15}$/.test(at) ? [] : [{ kind: 'wrong_use', subject, text: `The time of its last use is "${at.slice(0, 40)}".` }];
  });
}

function fieldsOf(reply: unknown): Map<string, string> {
  return new Map(pairsOf(reply as string[]));
}
