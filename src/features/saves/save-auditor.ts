import { accountKeyPattern } from '../../accounts/account-keys.ts';
import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { countedBytes, fieldOf, keysOf, savesIn } from './model.ts';

/** Checks that each version of a save has its text, that each text has its version, and that all versions are counted. */
export const saveAuditor: Auditor = {
  keys: [
    { pattern: accountKeyPattern('saves'), counted: 'accounts with saves', check: ([id], probe) => check(id!, probe) },
    {
      pattern: accountKeyPattern('saves:texts'),
      // If the versions exist, their check above has read the texts too.
      check: async ([id], probe) => ((await probe.ask('EXISTS', keysOf(id!).saves)) === 1 ? [] : check(id!, probe)),
    },
  ],
};

/**
 * The most pieces of an account that are checked. Only moves of many guests bring more, and to read them at once would stop Redis for tens
 * of milliseconds.
 */
const MOST_PIECES = 50_000;

/** A piece of a text: `PIECE_BYTES` of saves.lua. */
const PIECE_BYTES = 16_378;

async function check(id: string, probe: Probe): Promise<Finding[]> {
  const { saves, texts } = keysOf(id);
  if (Number(await probe.ask('HLEN', texts)) > MOST_PIECES) return [];
  const [words, fields] = (await probe.atomically(['HGETALL', saves], ['HKEYS', texts])) as [string[], string[]];
  const all = savesIn(words);
  probe.count('saves', all.length);
  const versions = all.flatMap((save) => save.versions.map((version) => ({ ...version, place: `${fieldOf(save)}/${version.version}` })));
  const expected = new Set(
    versions.flatMap(({ place, sizeBytes }) =>
      Array.from({ length: Math.ceil(sizeBytes / PIECE_BYTES) }, (_, piece) => `${place}/${piece}`),
    ),
  );
  const subject = `account ${id}`;
  const findings: Finding[] = [];
  const lost = [...expected].filter((field) => !fields.includes(field));
  if (lost.length > 0) findings.push({ kind: 'lost_save', subject, text: `Pieces of its saves are lost (${lost.length}): ${some(lost)}.` });
  const left = fields.filter((field) => !expected.has(field));
  // No command: the pieces may be all that is left of a version.
  if (left.length > 0)
    findings.push({
      kind: 'save_without_version',
      subject,
      text: `Pieces belong to no version of a save (${left.length}): ${some(left)}.`,
    });
  const noted = Object.fromEntries(pairsOf(words));
  const sums: Record<string, number> = { ':bytes': versions.reduce((sum, version) => sum + countedBytes(version), 0) };
  for (const {
    game,
    versions: [standing],
  } of all)
    sums[`${game}/`] = (sums[`${game}/`] ?? 0) + standing.sizeBytes;
  for (const [field, bytes] of Object.entries(sums))
    if (Number(noted[field] ?? 0) !== bytes)
      findings.push({
        kind: 'wrong_save_bytes',
        subject,
        text: `Its saves have ${bytes} bytes, and ${field} says ${noted[field] ?? 'nothing'}.`,
        commands: [['HSET', saves, field, bytes]],
      });
  const named = (game: string): readonly string[] => noted[game]?.split(' ') ?? [];
  const unnamed = all.filter(({ game, name }) => !named(game).includes(name));
  if (unnamed.length > 0)
    findings.push({ kind: 'save_without_name', subject, text: `No list names its saves ${some(unnamed.map(fieldOf))}.` });
  return findings;
}

const some = (fields: readonly string[]): string => `${fields.slice(0, 3).join(', ')}${fields.length > 3 ? ', …' : ''}`;
