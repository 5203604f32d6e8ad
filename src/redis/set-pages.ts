/** Sets that a page reads. */
const SETS_A_PAGE = 20;

/** Reads a part of a set by SSCAN. The cursor is `0` at first, and the answer's is `0` after the last part. */
export type ReadPart<Of> = (set: Of, cursor: string) => Promise<{ cursor: string; members: readonly string[] }>;

/** A cursor of `pageOfSets`. Redis refuses a cursor of SSCAN beyond 64 bits. */
export function isSetsCursor(text: string): boolean {
  return /^\d{1,5}\.\d{1,20}$/.test(text) && BigInt(text.split('.')[1]!) < 2n ** 64n;
}

/**
 * Reads some members of several sets, such as those of an account and of the guests that moved into it. A member may come twice.
 * @param cursor `0.0` at first: the place of a set, and the cursor in it. The answer's is undefined after the last page
 */
export async function pageOfSets<Of>(
  sets: readonly Of[],
  cursor: string,
  readPart: ReadPart<Of>,
): Promise<{ found: [set: Of, members: readonly string[]][]; cursor: string | undefined }> {
  const [placeText = '0', inSet = '0'] = cursor.split('.');
  const place = Number(placeText);
  const looked = sets.slice(place, place + SETS_A_PAGE);
  const parts = await Promise.all(looked.map((set, index) => readPart(set, index === 0 ? inSet : '0')));
  // The next page goes on in the first set with more members, and reads the sets behind it again.
  const more = parts.findIndex((part) => part.cursor !== '0');
  const read = more === -1 ? parts : parts.slice(0, more + 1);
  const found = read.map(({ members }, index): [Of, readonly string[]] => [looked[index]!, members]);
  if (more !== -1) return { found, cursor: `${place + more}.${parts[more]!.cursor}` };
  const next = place + SETS_A_PAGE;
  return { found, cursor: next < sets.length ? `${next}.0` : undefined };
}
