import { UsageError } from './arguments.ts';
import { Api, inParallel, RATE_LIMITED, type ApiAnswer } from './load/api.ts';

/** More than the burst that the default rate limit allows, so that a service with rate limits answers 429. */
const PROBES = 300;

/**
 * Checks that a service at --url can be loaded.
 * @throws UsageError when it does not respond, is not coinop or limits requests
 */
export async function checkRunningService(url: string): Promise<void> {
  const api = new Api(url);
  try {
    const { body } = await answerOf(api, url);
    if (body['service'] !== 'coinop') throw new UsageError(`${url} is not coinop: its /health returned ${JSON.stringify(body)}`);
    const probes = await inParallel(Array.from({ length: PROBES }), () => api.get('/v1/highscores/bench'));
    if (probes.some(({ status }) => status === 429)) throw new UsageError(`${url}: ${RATE_LIMITED}`);
  } finally {
    api.close();
  }
}

async function answerOf(api: Api, url: string): Promise<ApiAnswer> {
  try {
    return await api.get('/health');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(`${url} does not respond (${code ?? message}). Check that the service runs and that the address is right`);
  }
}
