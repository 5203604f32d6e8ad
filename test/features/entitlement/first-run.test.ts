import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

const firstRun = (installId: string, at = service) => at.post('/v1/entitlement/first-run', { installId });
const entitlement = (installId: string, at = service) => at.get(`/v1/entitlement?installId=${installId}`);

describe('POST /v1/entitlement/first-run', () => {
  test("records the time on the server's clock and starts no trial", async () => {
    const installId = freshId();
    const before = service.now();
    const { body } = await firstRun(installId);
    expect(body).toEqual({ ok: true, firstRunAt: expect.any(String) });
    expect(Date.parse(body.firstRunAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.firstRunAt)).toBeLessThanOrEqual(service.now());
    expect((await entitlement(installId)).body).toEqual({
      ok: true,
      state: 'none',
      access: false,
      installVerified: false,
      firstRunAt: body.firstRunAt,
    });
  });

  test('later requests answer with the first time', async () => {
    await using moved = await start();
    const installId = freshId();
    const first = await firstRun(installId, moved);
    moved.advance(3_600_000);
    const again = await firstRun(installId, moved);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await entitlement(installId, moved)).body.firstRunAt).toBe(first.body.firstRunAt);
  });

  test('50 concurrent requests on two processes record one time', async () => {
    // The clocks of the services are an hour apart, so that a second write would show.
    await using ahead = await start();
    ahead.advance(3_600_000);
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => firstRun(installId, index % 2 === 0 ? service : ahead)));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    const times = new Set(replies.map(({ body }) => body.firstRunAt));
    expect([...times]).toEqual([(await entitlement(installId)).body.firstRunAt]);
  });
});
