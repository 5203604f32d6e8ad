import type { Auditor, Finding, Look } from '../../consistency/auditor.ts';
import type { Reply } from '../../redis/resp.ts';
import { DATA_ID_KEY, idIn } from '../../redis/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../redis/data-version.ts';
import { slotOf } from '../../redis/slots.ts';
import { readSecret, secretFinding, type FoundSecret } from './secret-check.ts';
import { KEY_SECRET } from './secret-keys.ts';

/**
 * The marks of the slots of a Cluster: copies of the secret of the ledgers, of the data's version and of its id, under a tag of each slot
 * (`secret-of-cluster.ts`). A slot may lack them, until a process sets them. `replication:mark` is what scripts write before a WAIT
 * (`script-text.ts`).
 */
export function markAuditor(): Auditor {
  // There are 16,384 slots: the secret is read for the first one, and then only where a copy differs.
  let known: Promise<FoundSecret> | undefined;
  const isAsKnown = async (tag: string, look: Look): Promise<boolean> => {
    const [secret, ofSlot] = await Promise.all([(known ??= readSecret(look)), look.ask('GET', `${tag}${KEY_SECRET}`)]);
    return typeof secret !== 'string' && secret.text === ofSlot;
  };
  let knownId: Promise<string | undefined> | undefined;
  const checkId = async (tag: string, look: Look): Promise<Finding[]> => {
    const ofSlot = idOf(await look.ask('GET', `${tag}${DATA_ID_KEY}`));
    if (ofSlot === undefined || ofSlot === (await (knownId ??= look.ask('GET', DATA_ID_KEY).then(idOf)))) return [];
    // An operator may have accepted the data while the audit runs: all slots have another id then.
    const id = await (knownId = look.ask('GET', DATA_ID_KEY).then(idOf));
    if (ofSlot === id) return [];
    return [{ kind: 'other_data', subject: `slot ${slotOf(tag)}`, text: `Its data id is ${ofSlot}, where ${DATA_ID_KEY} has ${id}.` }];
  };
  return {
    keys: [
      {
        pattern: new RegExp(`^(\\{[0-9a-z]+\\})${KEY_SECRET}$`),
        check: async ([tag], look) => ((await isAsKnown(tag!, look)) ? undefined : checkSecret(tag!, look)),
      },
      { pattern: new RegExp(`^(\\{[0-9a-z]+\\})${DATA_VERSION_KEY}$`), check: ([tag], look) => checkVersion(tag!, look) },
      { pattern: new RegExp(`^(\\{[0-9a-z]+\\})${DATA_ID_KEY}$`), check: ([tag], look) => checkId(tag!, look) },
      { pattern: /^(?:\{[0-9a-z]+\})?replication:mark$/ },
    ],
  };
}

function idOf(value: Reply): string | undefined {
  return idIn(value as string | null);
}

/** Ledgers that were written with another secret have other hashes: their used keys would look new. */
async function checkSecret(tag: string, look: Look): Promise<Finding[]> {
  const secret = await readSecret(look);
  const ofSlot = await look.ask('GET', `${tag}${KEY_SECRET}`);
  if (ofSlot === null) return [];
  if (typeof secret === 'string') return [secretFinding(secret)];
  if (ofSlot === secret.text) return [];
  const text = `Its copy of the secret of the ledgers is another one than ${KEY_SECRET}.`;
  return [{ kind: 'other_secret', subject: `slot ${slotOf(tag)}`, text }];
}

async function checkVersion(tag: string, look: Look): Promise<Finding[]> {
  const version = await look.ask('GET', `${tag}${DATA_VERSION_KEY}`);
  if (version === null || version === String(DATA_VERSION)) return [];
  const text = `The version of its data is "${String(version as string)}", where this coinop writes ${DATA_VERSION}.`;
  return [{ kind: 'wrong_version', subject: `slot ${slotOf(tag)}`, text }];
}
