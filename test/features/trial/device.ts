import { freshId, type TestService } from '../../harness.ts';

export interface Device {
  readonly deviceId: string;
  readonly cookies: string[];
  readonly startedAt: string;
}

/** A device whose trial starts now, a minute after that of the device before, so that their starts differ. */
export async function touched(service: TestService): Promise<Device> {
  service.advance(60_000);
  const deviceId = freshId('device');
  const { body, cookies } = await service.post('/v1/trial/touch', { deviceId });
  return { deviceId, cookies, startedAt: body.startedAt };
}
