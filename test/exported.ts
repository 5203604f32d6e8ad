import { expect } from 'vitest';
import type { RequestOptions, TestReply, TestService } from './harness.ts';

/** The pages of an account's export. A page ends after a second at the latest, so on a slow machine a small account may have several. */
export async function exportPages(service: TestService, options: RequestOptions, from?: string): Promise<TestReply['body'][]> {
  const pages: TestReply['body'][] = [];
  for (let cursor = from; pages.length === 0 || cursor !== undefined; cursor = pages.at(-1).nextCursor) {
    const { status, body } = await service.get(`/v1/account/export${cursor === undefined ? '' : `?cursor=${cursor}`}`, options);
    expect([status, body.error]).toEqual([200, undefined]);
    pages.push(body);
  }
  return pages;
}

/** The pages as one, without the cursors. */
export function joined(pages: readonly TestReply['body'][]): TestReply['body'] {
  const whole: Record<string, unknown> = {};
  for (const { nextCursor: _, ...page } of pages)
    for (const [name, part] of Object.entries(page))
      whole[name] = Array.isArray(part) ? [...((whole[name] as unknown[]) ?? []), ...part] : part;
  return whole;
}

/** An account's whole export. */
export const exportOf = async (...at: Parameters<typeof exportPages>): Promise<TestReply['body']> => joined(await exportPages(...at));
