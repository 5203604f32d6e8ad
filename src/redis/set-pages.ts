/** The highest number of sets whose sizes one page reads. Most sets of an account are empty. */
const SETS_A_PAGE = 20;

/** How many reads of a set's size cost as much as the read of one object, for `SetsPage.reads`. */
const SIZES_A_READ = 4;

/** A part of a set as SSCAN gives it. The first call takes the cursor `0`. The answer with the last part has the cursor `0` again. */
export interface SetPart {
  readonly cursor: string;
  readonly members: readonly string[];
}

export interface SetReader<Of> {
  /** The size of a set. 0: the set is empty. Any other number may be inexact. */
  size(set: Of): Promise<number>;
  /** A part of about `count` members. Redis returns a small set, of up to 128 members, as a whole. */
  part(set: Of, cursor: string, count: number): Promise<SetPart>;
}

/** Whether SSCAN accepts a text as a cursor: Redis refuses a cursor of more than 64 bits. */
function isScanCursor(text: string): boolean {
  return /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n;
}

/** Whether a text is a cursor of pages of a set: `<cursor of SSCAN>`, or `<cursor>~<member>` if SSCAN answered more after that member. */
export function isSetCursor(text: string): boolean {
  const [scan = '', after, ...rest] = text.split('~');
  return isScanCursor(scan) && rest.length === 0 && (after === undefined || /^[\w-]{1,64}$/.test(after));
}

/** Whether a text is a cursor of `pageOfSets`: `<number of the set>.<cursor in the set>`. */
export function isSetsCursor(text: string): boolean {
  const [, inSet = ''] = /^\d{1,5}\.(.*)$/.exec(text) ?? [];
  return isSetCursor(inSet);
}

/**
 * Reads at most `most` members after a cursor in a set. The members of a part are sorted, so that a cursor can name any of them: SSCAN
 * alone cannot divide a small set. If the set grows between the calls, no member is missed.
 * @param inSet the cursor, `0` at first. The answer has `0` after the last member
 */
export async function pageOfSet(
  inSet: string,
  most: number,
  part: (cursor: string, count: number) => Promise<SetPart>,
): Promise<SetPart & { behind: (member: string) => string }> {
  const [scan = '0', after = ''] = inSet.split('~');
  const { cursor, members } = await part(scan, most);
  const left = members.toSorted().filter((member) => member > after);
  const behind = (member: string): string => (member === left.at(-1) ? cursor : `${scan}~${member}`);
  const given = left.slice(0, most);
  return { members: given, cursor: given.length === 0 ? cursor : behind(given.at(-1)!), behind };
}

/**
 * An array of sets, or an object that makes them on demand, because an account with guests has thousands of sets and a page needs only
 * twenty.
 */
export interface Sets<Of> {
  readonly length: number;
  at(place: number): Of | undefined;
}

export interface SetsPage<Of> {
  readonly found: readonly (readonly [set: Of, members: readonly string[]])[];
  /** The cursor of the next page. Undefined: this is the last page. */
  readonly cursor: string | undefined;
  /** The cost of the page in reads of one object. SIZES_A_READ sizes cost as much as one such read. */
  readonly reads: number;
}

/**
 * Reads at most `most` members of several sets, such as the sets of an account and of the guests that moved into it. A member may come
 * twice.
 * @param cursor `0.0` at first
 */
export async function pageOfSets<Of>(sets: Sets<Of>, cursor: string, most: number, reader: SetReader<Of>): Promise<SetsPage<Of>> {
  const dot = cursor.indexOf('.');
  const firstSet = Number(cursor.slice(0, dot));
  const asked = Array.from({ length: Math.max(0, Math.min(SETS_A_PAGE, sets.length - firstSet)) }, (_, place) =>
    sets.at(firstSet + place)!,
  );
  const sizes = await Promise.all(asked.map((set) => reader.size(set)));
  // Only as many sets are read (up to `end`) as are needed to fill a page.
  let [end, count] = [0, 0];
  while (end < asked.length && count < most) count += sizes[end++]!;
  const places = sizes.slice(0, end).flatMap((size, place) => (size === 0 ? [] : place));
  const parts = await Promise.all(
    places.map((place) => {
      const inSet = place === 0 ? cursor.slice(dot + 1) : '0';
      return pageOfSet(inSet, most, (scan, length) => reader.part(asked[place]!, scan, length));
    }),
  );
  const reads = asked.length / SIZES_A_READ + places.length;
  const found: [Of, readonly string[]][] = [];
  let room = most;
  for (const [index, place] of places.entries()) {
    const { members, cursor: inSet, behind } = parts[index]!;
    // The page is full before its last set, because a set has grown since its size was read.
    if (room === 0) return { found, cursor: `${firstSet + place}.0`, reads };
    const given = members.slice(0, room);
    found.push([asked[place]!, given]);
    room -= given.length;
    const next = given.length < members.length ? behind(given.at(-1)!) : inSet;
    if (next !== '0') return { found, cursor: `${firstSet + place}.${next}`, reads };
  }
  return { found, cursor: firstSet + end < sets.length ? `${firstSet + end}.0` : undefined, reads };
}
