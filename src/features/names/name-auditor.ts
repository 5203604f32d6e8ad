import { accountPatterns, missingAccount, standingIn } from '../../accounts/account-auditor.ts';
import { accountKey } from '../../accounts/account-keys.ts';
import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { holds } from '../../consistency/queue-check.ts';
import { pages } from '../../consistency/scan-pages.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { moveKeys } from '../guest-moves/model.ts';
import { GIVEN_NAMES } from './model.ts';

/** Checks that the index of given names has exactly the names that the accounts' fields have. */
export const nameAuditor: Auditor = {
  keys: [
    { pattern: /^\{given-names\}$/, type: 'hash', life: 'lasts', check: (_parts, probe) => checkIndex(probe) },
    { pattern: accountPatterns.account, check: ([id], probe) => checkAccount(id!, probe) },
  ],
};

async function checkIndex(probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const page of pages(probe, 'HSCAN', GIVEN_NAMES)) {
    const ids = pairsOf(page).flatMap(([id]) => (id === 'version' ? [] : [id]));
    probe.count('given names', ids.length);
    for (const found of await Promise.all(ids.map((id) => compare(id, probe)))) findings.push(...found);
  }
  return findings;
}

async function checkAccount(id: string, probe: Probe): Promise<Finding[]> {
  const [name = null] = await probe.fields(accountKey(id), 'nameGiven');
  return name === null || name === '' ? [] : compare(id, probe);
}

/** Compares the name in the index with the name in the account, which is authoritative. */
async function compare(id: string, probe: Probe): Promise<Finding[]> {
  const index = GIVEN_NAMES;
  const replies = await probe.together(['HGET', index, id], ['HGET', accountKey(id), 'nameGiven'], ['EXISTS', accountKey(id)]);
  const [listed, given] = [replies[0] as string | null, (replies[1] as string | null) || null];
  if (listed === given) return [];
  const { target, moving, deleted } = await standingIn(id, probe);
  // If a guest moves or an account is being erased, a later step removes its name from the index.
  if ((target ?? moving) !== undefined || deleted?.isClosed === false) return [];
  if (replies[2] === 0 && deleted === undefined) return [(await missingAccount(id, probe)) ?? differs(id, listed, given, probe)];
  if (await holds(moveKeys.unfinished, (member) => member.split(' ')[1] === id, probe)) return [];
  if ((await probe.ask('EXISTS', index)) === 1) return [differs(id, listed, given, probe)];
  const text = 'The index is empty, although some accounts have given names: the service shows the names that their players send instead.';
  return [{ ...differs(id, listed, given, probe), subject: `key ${index}`, text }];
}

function differs(id: string, listed: string | null, given: string | null, probe: Probe): Finding {
  const said = (name: string | null): string => (name === null ? 'no name' : `"${name}"`);
  const text = `The account's fields have ${said(given)} as the name that an operator gave it, but ${GIVEN_NAMES} has ${said(listed)}.`;
  // Processes read the index again once its version changes. As the new version, the time differs from any version that a process knows.
  const commands: Command[] = [
    given === null ? ['HDEL', GIVEN_NAMES, id] : ['HSET', GIVEN_NAMES, id, given],
    ['HSET', GIVEN_NAMES, 'version', Math.floor(probe.now() / 1000) * 1000],
  ];
  return { kind: 'name_differs', subject: `account ${id}`, text, commands };
}
