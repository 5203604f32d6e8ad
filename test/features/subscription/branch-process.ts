import { pino } from 'pino';
import { GoogleStore } from '../../../src/stores/google/google-store.ts';
import type { ServiceAccount, GoogleSettings } from '../../../src/stores/google/settings.ts';
import { startService } from '../../../src/service.ts';
import { testConfig } from '../../environment.ts';

/** A shop's service in a child process that a test kills. */
const { socketPath, store, account } = JSON.parse(process.env['BRANCH']!) as {
  socketPath: string;
  store: GoogleSettings;
  account: ServiceAccount;
};
await startService(testConfig({ PORT: '0' }), {
  redis: { socketPath },
  sessionKeys: [{ kid: 'test', secret: Buffer.alloc(32, 7) }],
  log: pino({ level: 'silent' }),
  store: (parts) => new GoogleStore({ ...parts, settings: () => ({ ...store, serviceAccount: () => Promise.resolve(account) }) }),
});
process.stdout.write('open\n');
