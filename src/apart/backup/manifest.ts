import { z } from 'zod';
import { DATA_VERSION, OLDEST_DATA_VERSION, standOfVersion } from '../../redis/data/data-version.ts';
import { DamagedBackup, type Archive } from './archive.ts';

/** The names of the members of a backup's archive. */
export const MEMBERS = { data: 'dump.rdb', sessionKeys: 'session-keys', tombstones: 'tombstones', manifest: 'manifest.json' } as const;

/** The version of the backup's format. It rises with each change that makes a backup unreadable for older versions of coinop. */
const FORMAT = 1;

const Audit = z.object({
  drift: z.number(),
  unsettled: z.number(),
  checked: z.record(z.string(), z.number()),
  unknown: z.record(z.string(), z.number()),
});

/** The description of a backup, which the archive contains as `manifest.json`. */
const Manifest = z.object({
  service: z.literal('coinop'),
  format: z.number(),
  /** The version of the coinop that made the backup. */
  version: z.string(),
  /** The version of the data. Null: Redis had no data yet. */
  dataVersion: z.string().nullable(),
  /** The backup contains every operation that was acknowledged before this time, in milliseconds since 1970. */
  at: z.iso.datetime(),
  redis: z.string(),
  data: z.object({ bytes: z.number(), sha256: z.string() }),
  sessionKeys: z.boolean(),
  /** The result of the audit of the copy. Null: the copy was not audited. */
  verified: z
    .object({
      accounts: z.number(),
      keys: z.number(),
      /** The sum of all balances in decimal digits, because a double may not hold it exactly. */
      coins: z.string().regex(/^\d+$/),
      tombstones: z.number(),
      audit: Audit,
    })
    .nullable(),
});

export type Manifest = z.output<typeof Manifest>;

export function newManifest(manifest: Omit<Manifest, 'service' | 'format'>): Manifest {
  return { service: 'coinop', format: FORMAT, ...manifest };
}

/** The manifest of an archive. @throws DamagedBackup if it is unreadable, or from a newer coinop */
export async function manifestOf(archive: Archive): Promise<Manifest> {
  const text = await archive.text(MEMBERS.manifest);
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new DamagedBackup(`Its ${MEMBERS.manifest} is unreadable.`);
  }
  const { format } = (found ?? {}) as { format?: unknown };
  if (typeof format === 'number' && format > FORMAT) throw new DamagedBackup('A newer coinop made it: restore it with that one.');
  const { data, error } = Manifest.safeParse(found);
  if (data === undefined) throw new DamagedBackup(`Its ${MEMBERS.manifest} is unreadable: ${error.issues[0]!.path.join('.')}.`);
  return data;
}

/** The reason why this coinop cannot restore data of this version, as a sentence. Undefined: it can. */
export function problemOfVersion(version: string | null): string | undefined {
  const stand = version === null ? 'current' : standOfVersion(version);
  if (stand === 'current' || stand === 'older') return undefined;
  if (stand === 'too_old')
    return `Its data has version ${version}, and this coinop takes none before ${OLDEST_DATA_VERSION}. Restore it with the coinop that made it.`;
  return `Its data has version ${version}, and this coinop knows versions up to ${DATA_VERSION}. Restore it with the coinop that made it, or a newer one.`;
}
