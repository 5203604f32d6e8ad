import { pino } from 'pino';
import { readConfig } from '../../../src/config.ts';
import type { ServiceAccount, StoreSettings } from '../../../src/stores/google/settings.ts';
import { startService } from '../../../src/service.ts';

/** A service of a shop in a child process that a test kills. */
const { socketPath, store, account } = JSON.parse(process.env['BRANCH']!) as {
  socketPath: string;
  store: StoreSettings;
  account: ServiceAccount;
};
await startService(readConfig({ PORT: '0' }), {
  redis: { socketPath },
  sessionKeys: [{ kid: 'test', secret: Buffer.alloc(32, 7) }],
  log: pino({ level: 'silent' }),
  storeSettings: { ...store, serviceAccount: () => Promise.resolve(account) },
});
process.stdout.write('open\n');
