import { z } from 'zod';

/** Spans of time in queries. */

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 86_400_000;

const Time = z.iso.datetime({ offset: true });

const isSpanTime = (text: string): boolean => (DAY.test(text) ? z.iso.date().safeParse(text).success : Time.safeParse(text).success);

const SpanTime = z.string().refine(isSpanTime, 'Must be a time such as 2026-11-22T12:00:00Z, or a day (UTC) such as 2026-11-22').optional();

/** @param what happened in the span, for the descriptions: `Entries` */
export const spanFields = (what: string) => ({
  from: SpanTime.meta({
    description: `${what} of this time or later, or of this day (UTC) or later.`,
    example: '2026-11-22T10:00:00Z',
    typed: { isTime: true, word: 'TIME' },
  }),
  to: SpanTime.meta({
    description: `${what} before this time, or until the end of this day (UTC).`,
    example: '2026-11-22T10:05:00Z',
    typed: { isTime: true, word: 'TIME' },
  }),
});

export interface Span {
  /** Milliseconds since 1970, as `to`. */
  readonly from: number | undefined;
  /** The end of the span. It does not belong to the span. */
  readonly to: number | undefined;
}

/** A day ends with its last millisecond. So `from` and `to` may be the same day. */
export function spanOf({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }): Span {
  return {
    from: from === undefined ? undefined : Date.parse(from),
    to: to === undefined ? undefined : Date.parse(to) + (DAY.test(to) ? DAY_MS : 0),
  };
}

/** Whether an ISO 8601 time lies in a span. */
export function isIn({ from, to }: Span, iso: string): boolean {
  const at = Date.parse(iso);
  return (from === undefined || at >= from) && (to === undefined || at < to);
}
