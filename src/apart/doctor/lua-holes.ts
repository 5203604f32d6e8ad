/**
 * Known security holes in the Lua of Redis or Valkey, and for each series of releases the first release without them. Series of releases
 * that are later than the listed ones never had them.
 */
interface Hole {
  readonly names: string;
  readonly effect: string;
  /**
   * For each series of releases the first patch release without the hole: `7.2` → 11 means 7.2.11. A series that is not listed, but is
   * older than the newest listed series, never got a fix.
   */
  readonly fixedIn: Readonly<Record<string, number>>;
  /** The first series that is reported. Older series do not have the hole, or nobody knows which of their releases have the fix. */
  readonly since?: string;
}

/** The holes of Redis, from the release notes of October 2025 (7.2.11, 7.4.6, 8.0.4, 8.2.2), and CVE-2026-23631 (8.6.3). */
const ofRedis: readonly Hole[] = [
  {
    names: 'CVE-2025-49844, CVE-2025-46817, CVE-2025-46818 and CVE-2025-46819',
    effect: 'A client that may run scripts may run code on the machine of Redis',
    fixedIn: { '6.2': 20, '7.2': 11, '7.4': 6, '8.0': 4, '8.2': 2 },
  },
  {
    names: 'CVE-2026-23631',
    effect: 'A client that may run scripts may run code on the machine of a replica',
    fixedIn: { '8.6': 3 },
    since: '8.6',
  },
];

/** The holes of Valkey, from the release notes of 7.2.11, 8.0.6 and 8.1.4, and of 7.2.12, 8.0.7, 8.1.6 and 9.0.2. */
const ofValkey: readonly Hole[] = [
  {
    names: 'CVE-2025-49844, CVE-2025-46817, CVE-2025-46818 and CVE-2025-46819',
    effect: 'A client that may run scripts may run code on the machine of Valkey',
    fixedIn: { '7.2': 11, '8.0': 6, '8.1': 4 },
  },
  {
    names: 'CVE-2025-67733',
    effect: 'A client that may run scripts may forge answers to other clients',
    fixedIn: { '7.2': 12, '8.0': 7, '8.1': 6, '9.0': 2 },
  },
];

/** The holes of a version, as far as its number shows. A distribution may have fixed the holes without a new number. */
export function luaHolesOf(
  version: string,
  isValkey: boolean,
): { readonly names: string; readonly effect: string; readonly fixed: string }[] {
  const [, major = '0', minor = '0', patch = '0'] = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(version) ?? [];
  const series = `${major}.${minor}`;
  return (isValkey ? ofValkey : ofRedis).flatMap(({ names, effect, fixedIn, since = '0.0' }) => {
    const all = Object.keys(fixedIn).toSorted(bySeries);
    const fixedPatch = fixedIn[series];
    const isOpen = fixedPatch === undefined ? bySeries(series, all.at(-1)!) < 0 : Number(patch) < fixedPatch;
    if (!isOpen || bySeries(series, since) < 0) return [];
    return [{ names, effect, fixed: all.map((release) => `${release}.${fixedIn[release]}`).join(', ') }];
  });
}

function bySeries(one: string, other: string): number {
  const [major = 0, minor = 0] = one.split('.').map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number);
  return major - otherMajor || minor - otherMinor;
}
