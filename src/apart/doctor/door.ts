import type { Config } from '../../config.ts';
import { Diagnosis } from './diagnosis.ts';
import { examineRedis } from './examine-redis.ts';
import { examineDataDir } from './machine.ts';
import { examineService } from './running-service.ts';
import { examineSecretFiles } from './secret-files.ts';
import { examineApple } from './apple.ts';
import { examineSettings } from './settings.ts';
import { examineRevocation, examineSignIns } from './sign-ins.ts';

export { jsonOf, textOf } from './diagnosis.ts';

export interface Patient {
  readonly config: Config;
  /** The problems of the settings, one line for each. */
  readonly problems: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** The address of the running service. Undefined: the address follows from HOST and PORT. */
  readonly url: string | undefined;
}

/** Examines settings, Redis, this machine and the running service. Changes nothing. */
export async function examine({ config, problems, environment, url }: Patient): Promise<Diagnosis> {
  const diagnosis = new Diagnosis();
  examineSettings(config, problems, diagnosis);
  // If REDIS_URL is invalid, there is no Redis to examine.
  if (!problems.some((text) => text.startsWith('REDIS_URL '))) await examineRedis(config, diagnosis);
  await examineSignIns(config, diagnosis);
  if (!problems.some((text) => text.startsWith('APPLE_'))) {
    await examineRevocation(config, diagnosis);
    await examineApple(config, diagnosis);
  }
  examineDataDir(config, diagnosis);
  examineSecretFiles(environment, diagnosis);
  await examineService(config, url, diagnosis);
  return diagnosis;
}
