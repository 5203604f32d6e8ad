import { z } from 'zod';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';

const alive = Encoded.ok({ service: 'coinop' });

export const health = endpoint({
  method: 'GET',
  path: '/health',
  operationId: 'getHealth',
  caller: 'none',
  summary: 'Answers 200 while the process is alive. It never asks Redis.',
  reply: z.object({ service: z.string().meta({ example: 'coinop' }) }),
  probe: true,
  unlimited: true,
  example: `curl -s $base/health`,
  handle: () => alive,
});
