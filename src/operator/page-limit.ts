import { limitParameter } from '../server/http/endpoint.ts';

/** As text, because it comes from a query. */
export const Limit = limitParameter(100, 'Entries per page, 1 to 100. The default is 50.');

/** Of a cursor. */
export const AFTER_A_PAGE = { description: 'The `nextCursor` of a page: goes on after it.' };

export function limitOf(text: string | undefined): number {
  return Number(text ?? 50);
}
