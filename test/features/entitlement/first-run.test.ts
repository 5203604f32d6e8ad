import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

const firstRun = (installId: string, at = service) => at.post('/v1/entitlement/first-run', { installId });
const entitlement = (installId: string, at = service) => at.get(`/v1/entitlement?installId=${installId}`);

describe('POST /v1/entitlement/first-run', () => {
  test("records the time of the first request on the server's clock, and starts no trial", async () => {
    await using moved = await start({ stoppedClock: true });
    const installId = freshId();
    const firstRunAt = new Date(moved.now()).toISOString();
    for (let count = 0; count < 2; count++) {
      expect((await firstRun(installId, moved)).body).toEqual({ ok: true, firstRunAt });
      moved.advance(3_600_000);
    }
    const told = { ok: true, state: 'none', access: false, installVerified: false, firstRunAt };
    expect((await entitlement(installId, moved)).body).toEqual(told);
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
