import { accountKeyPattern } from '../../accounts/account-keys.ts';
import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { countedBytes, fieldOf, keysOf, MOST_GAME_BYTES, PIECE_BYTES, savesIn, type Save } from './model.ts';

/** Checks that each version of a save has a text, that each text belongs to a version, and that the counts of bytes are right. */
export const saveAuditor: Auditor = {
  keys: [
    { pattern: accountKeyPattern('saves'), counted: 'accounts with saves', check: ([id], probe) => check(id!, probe) },
    {
      pattern: accountKeyPattern('saves:texts'),
      // If the versions exist, their own check (the entry above) also reads the texts.
      check: async ([id], probe) => ((await probe.ask('EXISTS', keysOf(id!).saves)) === 1 ? [] : check(id!, probe)),
    },
  ],
};

/**
 * If an account has more pieces than this, they are not checked. An account has more pieces only after many guests moved in. To read all of
 * them at once would block Redis for tens of milliseconds.
 */
const MOST_PIECES = 50_000;

async function check(id: string, probe: Probe): Promise<Finding[]> {
  const { saves, texts } = keysOf(id);
  if (Number(await probe.ask('HLEN', texts)) > MOST_PIECES) return [];
  const [words, fields] = (await probe.atomically(['HGETALL', saves], ['HKEYS', texts])) as [string[], string[]];
  const all = savesIn(words);
  probe.count('saves', all.length);
  const versions = all.flatMap((save) => save.versions.map((version) => ({ ...version, place: `${fieldOf(save)}/${version.version}` })));
  const expected = new Set(
    versions.flatMap(({ place, sizeBytes }) =>
      // A larger size is damaged, and its pieces would fill the memory.
      Array.from({ length: Math.ceil(Math.min(sizeBytes, MOST_GAME_BYTES) / PIECE_BYTES) }, (_, piece) => `${place}/${piece}`),
    ),
  );
  const subject = `account ${id}`;
  const present = new Set(fields);
  const noted = Object.fromEntries(pairsOf(words));
  const isNamed = ({ game, name }: Save): boolean => noted[game]?.split(' ').includes(name) === true;
  const wrong: [kind: string, found: string[], text: string][] = [
    ['lost_save', [...expected].filter((field) => !present.has(field)), 'Pieces of its saves are lost'],
    // There is no command, because the pieces may be all that is left of a version.
    ['save_without_version', fields.filter((field) => !expected.has(field)), 'Pieces belong to no version of a save'],
    ['save_without_name', all.filter((save) => !isNamed(save)).map(fieldOf), 'No list names some of its saves'],
  ];
  // With a damaged size the sums are unknown.
  const areKnown = versions.every(({ sizeBytes }) => sizeBytes <= MOST_GAME_BYTES);
  const sums: Record<string, number> = { ':bytes': versions.reduce((sum, version) => sum + countedBytes(version), 0) };
  for (const { game, versions: own } of all) sums[`${game}/`] = (sums[`${game}/`] ?? 0) + own[0].sizeBytes;
  return [
    ...wrong.flatMap(([kind, found, text]) =>
      found.length === 0 ? [] : [{ kind, subject, text: `${text} (${found.length}): ${some(found)}.` }],
    ),
    ...Object.entries(sums).flatMap(([field, bytes]) => {
      if (!areKnown || Number(noted[field] ?? 0) === bytes) return [];
      const text = `The account's saves have ${bytes} bytes, and ${field} says ${noted[field] ?? 'nothing'}.`;
      return [{ kind: 'wrong_save_bytes', subject, text, commands: [['HSET', saves, field, bytes]] satisfies Command[] }];
    }),
  ];
}

const some = (fields: readonly string[]): string => `${fields.slice(0, 3).join(', ')}${fields.length > 3 ? ', …' : ''}`;
