/** JSON schemas of the Fastify peer's bodies and replies, with the same rules as the service's shapes. */

const installId = { type: 'string', pattern: '^[\\x21-\\x7e]{8,128}$' };
const ok = { type: 'boolean' };
const refusal = {
  '4xx': {
    type: 'object',
    required: ['ok', 'error'],
    properties: { ok, error: { type: 'object', properties: { code: { type: 'string' }, message: { type: 'string' } } } },
  },
};

function reply(properties: Record<string, unknown>, required: string[]): Record<string, unknown> {
  return { 200: { type: 'object', required: ['ok', ...required], properties: { ok, ...properties } }, ...refusal };
}

const top = {
  type: 'array',
  maxItems: 10,
  items: {
    type: 'object',
    required: ['rank', 'playerId', 'name', 'score', 'at'],
    properties: {
      rank: { type: 'integer' },
      playerId: { type: 'string' },
      name: { type: 'string' },
      score: { type: 'number' },
      at: { type: 'string' },
    },
  },
};

export const loginBody = { type: 'object', required: ['installId'], properties: { installId } };

export const creditBody = {
  type: 'object',
  required: ['coins', 'key'],
  properties: {
    installId,
    coins: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    key: { type: 'string', pattern: '^[\\x20-\\x7e]{1,255}$' },
  },
};

export const scoreBody = {
  type: 'object',
  required: ['score', 'name'],
  properties: {
    installId,
    score: { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    name: { type: 'string', minLength: 1, maxLength: 24 },
  },
};

export const healthReply = reply({ service: { type: 'string' } }, ['service']);
export const creditReply = reply(
  { balanceAfterCoins: { type: 'integer' }, replayed: { type: 'boolean' }, balanceCoins: { type: 'integer' } },
  ['balanceAfterCoins'],
);
export const balanceReply = reply({ balanceCoins: { type: 'integer' } }, ['balanceCoins']);
export const scoreReply = reply({ rank: { type: 'integer' }, best: { type: 'number' }, personalBest: { type: 'boolean' }, top }, [
  'rank',
  'best',
  'personalBest',
  'top',
]);
export const topReply = reply({ game: { type: 'string' }, top }, ['game', 'top']);
