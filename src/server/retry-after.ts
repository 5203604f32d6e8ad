/**
 * Parses a Retry-After header, which is a number of seconds or a date (RFC 9110, section 10.2.3), into milliseconds from now.
 * @param now milliseconds since 1970
 */
export function retryAfter(header: string | null | undefined, now: number): number | undefined {
  if (header === null || header === undefined) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(waitMs) ? Math.max(waitMs, 0) : undefined;
}
