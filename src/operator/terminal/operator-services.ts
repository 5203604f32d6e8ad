import type { Logger } from 'pino';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Config } from '../../config.ts';
import { BanJournal } from '../../features/bans/ban-journal.ts';
import { DeletionJournal } from '../../features/deletion/deletion-journal.ts';
import { Catalogue } from '../../features/catalogue/file.ts';
import { Bookings } from '../../features/coins/bookings.ts';
import { KeySecret } from '../../features/coins/key-secret.ts';
import { MoveJournal } from '../../features/guest-moves/move-journal.ts';
import { EventLog } from '../../features/events/event-log.ts';
import { Hooks } from '../../features/webhooks/hooks.ts';
import { holdings } from '../../holdings.ts';
import { GrantPace } from '../grant-pace.ts';
import type { OperatorServices } from '../operation.ts';
import { Failure } from '../../process/command.ts';
import { readDataId, readNewest } from '../../process/data-id-file.ts';
import type { RedisConnections } from '../../redis/redis-connections.ts';
import { foreignId, idIn, readId, succeeds } from '../../redis/data/data-id.ts';
import { DATA_VERSION, readDataVersion } from '../../redis/data/data-version.ts';
import { nameOfProvider } from '../../stores/openid/provider-table.ts';
import { refusalsIn } from '../../redis/data/data-refusal.ts';
import { findOlder, textOfOlder } from '../../redis/data/describe-older-data.ts';

/** The services that operations get in the tool. */
export function openOperatorServices(
  config: Config,
  connections: RedisConnections,
  scripts: CallerScripts,
  { log, now }: { readonly log: Logger; readonly now: () => number },
): { readonly services: OperatorServices; readonly closeServices: () => void } {
  const catalogue = new Catalogue(config.CATALOGUE_FILE, log);
  // The first change that needs the secret reads it. So reads do not change data of an older version.
  const keySecret = new KeySecret(connections.source, log);
  const moves = new MoveJournal({
    scripts,
    catalogue,
    config,
    holdings,
    keySecret,
    providerName: (key) => nameOfProvider(key, config),
    log,
    now,
  });
  scripts.helpMove = (accountId) => moves.help(accountId);
  // The tool has no metrics.
  const metrics = { accountDeleted(): void {} };
  const deletions = new DeletionJournal({ scripts, catalogue, config, holdings, metrics, log, now });
  const bookings = new Bookings({ scripts, keySecret, coinTotals: { applied(): void {} }, config });
  const bans = new BanJournal({ scripts, catalogue, config, holdings, log, now });
  const hooks = new Hooks({ scripts, config, now });
  // The tool ignores its own setting EVENTS. The log of events exists if a service has ever written it.
  const events = new EventLog({ scripts, subscriber: connections.subscriber });
  return {
    services: { scripts, keySecret, catalogue, config, deletions, bans, bookings, grantPace: new GrantPace(), hooks, events, now },
    closeServices() {
      events.close();
      keySecret.close();
      catalogue.close();
    },
  };
}

const BRING_BACK = 'Bring the data back, or see "npm run admin -- data accept". Nothing was changed.';

/** As `Tool.checkData`. On a Cluster only refused data can be found, because a Cluster never has data of another version. */
export async function checkData({ source }: RedisConnections, { DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<void> {
  const [refusal] = await refusalsIn(source);
  if (refusal !== undefined) throw new Failure(`The services refuse the data: ${refusal}. ${BRING_BACK}`);
  if ('shards' in source) return;
  const known = readDataId(DATA_DIR);
  const id = idIn(await readId(source));
  const foreign = id === undefined ? await foreignId(source) : undefined;
  if (foreign !== undefined) throw new Failure(`${foreign.message} Nothing was changed.`);
  if (known !== undefined && id !== known && !(id !== undefined && succeeds(id, known)))
    throw new Failure(
      `Redis has ${id === undefined ? 'no data with an id' : `the data ${id}`}, and the service of DATA_DIR knows ${known}: the data was lost or swapped. ${BRING_BACK}`,
    );
  const older = id === undefined ? undefined : await findOlder(id, readNewest(DATA_DIR, id), (key) => readId(source, key));
  if (older !== undefined) throw new Failure(`The data in Redis is ${textOfOlder(older)}. ${BRING_BACK}`);
  if ((await readDataVersion(source)) === String(DATA_VERSION)) return;
  throw new Failure(
    'No service of this version has run on this data. Is it the Redis of your service (REDIS_URL, DATA_DIR)? If so, start the service, which prepares it. Nothing was changed.',
  );
}
