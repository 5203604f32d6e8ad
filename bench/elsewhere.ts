import { UsageError } from './arguments.ts';
import { Api, inParallel, RATE_LIMITED, type ApiAnswer } from './load/api.ts';

/** More than the requests that a service lets through at once with its ordinary limits. */
const PROBES = 300;

/**
 * Looks whether a service that was started elsewhere can be loaded.
 * @throws UsageError that says why not
 */
export async function checkElsewhere(url: string): Promise<void> {
  const api = new Api(url);
  try {
    const { body } = await answerOf(api, url);
    if (body['service'] !== 'coinop') throw new UsageError(`${url} answers, but is no coinop: its /health says ${JSON.stringify(body)}`);
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
    throw new UsageError(`${url} does not answer (${code ?? message}). Is the service started, and the address right?`);
  }
}
