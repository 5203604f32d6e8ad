import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import type { Reply } from '../../redis/resp.ts';
import { DATA_ID_KEY, idIn } from '../../redis/data/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../redis/data/data-version.ts';
import { slotOf } from '../../redis/slots.ts';
import { readSecret, secretFinding, type FoundSecret } from './secret-check.ts';
import { KEY_SECRET } from './secret-keys.ts';
import { otherSecret } from './replaced-secret-check.ts';

/**
 * If this many slots have the same copy, which differs from the secret, it is already certain before the audit ends that the secret itself
 * was changed.
 */
const CERTAIN = 1000;

/**
 * Each slot of a Cluster has copies of the ledgers' secret, of the data's version and of the data's id, in Redis keys with a tag of the
 * slot (`secret-of-cluster.ts`). The auditor checks these copies. A slot may lack its copies until a process writes them. Scripts write
 * `replication:mark` before a WAIT (`script-text.ts`).
 */
export function slotCopyAuditor(): Auditor {
  // There are 16,384 slots, so the auditor reads the secret once, and again only if a copy differs.
  let known: Promise<FoundSecret> | undefined;
  const copies = new Map<string, number>();
  let right = 0;
  const isAsKnown = async (tag: string, probe: Probe): Promise<boolean> => {
    const [secret, ofSlot] = await Promise.all([(known ??= readSecret(probe)), probe.ask('GET', `${tag}${KEY_SECRET}`)]);
    if (typeof secret === 'string') return false;
    if (secret.text === ofSlot) right++;
    else if (typeof ofSlot === 'string' && copies.size < 2) copies.set(ofSlot, (copies.get(ofSlot) ?? 0) + 1);
    return secret.text === ofSlot;
  };
  /** The finding that the secret was changed, if at least `least` copies agree with each other and no copy agrees with the secret. */
  const findChanged = (least: number): Finding[] =>
    right === 0 && copies.size === 1 && [...copies.values()][0]! >= least ? [otherSecret()] : [];
  let knownId: Promise<string | undefined> | undefined;
  const checkId = async (tag: string, probe: Probe): Promise<Finding[]> => {
    const ofSlot = idOf(await probe.ask('GET', `${tag}${DATA_ID_KEY}`));
    if (ofSlot === undefined || ofSlot === (await (knownId ??= probe.ask('GET', DATA_ID_KEY).then(idOf)))) return [];
    // An operator may accept the data during the audit: all slots then get a new data id.
    const id = await (knownId = probe.ask('GET', DATA_ID_KEY).then(idOf));
    if (ofSlot === id) return [];
    return [{ kind: 'other_data', subject: `slot ${slotOf(tag)}`, text: `The slot's data id is ${ofSlot}, but ${DATA_ID_KEY} has ${id}.` }];
  };
  return {
    keys: [
      {
        pattern: new RegExp(`^(\\{[0-9a-z]+\\})${KEY_SECRET}$`),
        type: 'string',
        readsKey: true,
        check: async ([tag], probe) =>
          (await isAsKnown(tag!, probe)) ? undefined : [...(await checkSecret(tag!, probe)), ...findChanged(CERTAIN)],
      },
      {
        pattern: new RegExp(`^(\\{[0-9a-z]+\\})${DATA_VERSION_KEY}$`),
        type: 'string',
        readsKey: true,
        check: ([tag], probe) => checkVersion(tag!, probe),
      },
      {
        pattern: new RegExp(`^(\\{[0-9a-z]+\\})${DATA_ID_KEY}$`),
        type: 'string',
        readsKey: true,
        check: ([tag], probe) => checkId(tag!, probe),
      },
      { pattern: /^(?:\{[0-9a-z]+\})?replication:mark$/, type: 'string' },
    ],
    last: async () => findChanged(2),
  };
}

function idOf(value: Reply): string | undefined {
  return idIn(value as string | null);
}

/**
 * Checks a slot's copy of the secret. If ledgers were written with another secret, they have other hashes, so their used idempotency keys
 * would seem new.
 */
async function checkSecret(tag: string, probe: Probe): Promise<Finding[]> {
  const secret = await readSecret(probe);
  const ofSlot = await probe.ask('GET', `${tag}${KEY_SECRET}`);
  if (ofSlot === null) return [];
  if (typeof secret === 'string') return [secretFinding(secret)];
  if (ofSlot === secret.text) return [];
  const text = `The slot's copy of the secret of the ledgers differs from ${KEY_SECRET}.`;
  return [{ kind: 'other_secret', subject: `slot ${slotOf(tag)}`, text, explainedBy: [`key ${KEY_SECRET}`] }];
}

async function checkVersion(tag: string, probe: Probe): Promise<Finding[]> {
  const version = await probe.ask('GET', `${tag}${DATA_VERSION_KEY}`);
  if (version === null || version === String(DATA_VERSION)) return [];
  const text = `The version of its data is "${String(version as string)}", where this coinop writes ${DATA_VERSION}.`;
  return [{ kind: 'wrong_version', subject: `slot ${slotOf(tag)}`, text }];
}
