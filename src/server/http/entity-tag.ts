/** A member of an If-None-Match header: `*`, or an entity tag in quotes, weak or strong (RFC 9110, sections 8.8.3 and 13.1.2). */
const MEMBER = /\*|(?:W\/)?("[^"]*")/g;

/** Whether an If-None-Match header matches this entity tag: by weak comparison, or by `*`, which matches every tag. */
export function namesTag(ifNoneMatch: string, tag: string): boolean {
  for (const [member, strong] of ifNoneMatch.matchAll(MEMBER)) if (member === '*' || strong === tag) return true;
  return false;
}
