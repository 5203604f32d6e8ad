import { errors, type ErrorCode } from '../../errors.ts';
import type { Schema } from './schemas.ts';

type Components = Readonly<Record<string, Schema>>;

/**
 * An example for a schema: its own example, or an object made from the examples of its parts. A made object has the required fields, and
 * those optional fields that have an example. If a text has no example, the name of its field takes the place.
 */
export function exampleOf(schema: Schema, components: Components, name = 'text'): unknown {
  if (schema['example'] !== undefined) return schema['example'];
  if (typeof schema['$ref'] === 'string') return exampleOf(components[schema['$ref'].split('/').at(-1)!]!, components, name);
  const [value] = (schema['enum'] ?? []) as unknown[];
  if (value !== undefined) return value;
  const [choice] = (schema['oneOf'] ?? schema['anyOf'] ?? []) as Schema[];
  if (choice !== undefined) return exampleOf(choice, components, name);
  switch (schema['type']) {
    case 'object':
      return objectExample(schema, components);
    case 'array':
      return [exampleOf(schema['items'] as Schema, components, name)];
    case 'integer':
    case 'number':
      return schema['default'] ?? Math.max(1, (schema['minimum'] as number | undefined) ?? 1);
    case 'boolean':
      return true;
    case 'string':
      return schema['format'] === 'date-time' ? '2026-11-22T12:00:00.000Z' : name;
    default:
      return {};
  }
}

function objectExample({ properties = {}, required = [], allOf = [] }: Schema, components: Components): object {
  const fields = Object.entries(properties as Record<string, Schema>).filter(
    ([name, property]) => (required as string[]).includes(name) || property['example'] !== undefined,
  );
  return Object.assign(
    {},
    ...(allOf as Schema[]).map((part) => exampleOf(part, components)),
    Object.fromEntries(fields.map(([name, property]) => [name, exampleOf(property, components, name)])),
  ) as object;
}

/** Example values for the fields that some errors have besides code and message. */
const details: Partial<Record<ErrorCode, object>> = {
  invalid_request: {
    message: 'coins: Must be a whole number from 1 to 1,000,000',
    field: 'coins',
    issues: [{ path: 'coins', message: 'Must be a whole number from 1 to 1,000,000' }],
  },
  insufficient_coins: { balanceCoins: 5 },
  balance_limit: { balanceCoins: 1_000_000_000_000 },
  integrity_failed: { failed: ['device_integrity'] },
  rate_limited: { retryAfterMs: 1000 },
  overloaded: { retryAfterMs: 1000 },
  store_unavailable: { retryAfterMs: 1000 },
  app_store_unavailable: { retryAfterMs: 1000 },
};

/** An example of the answer to a request that is refused with this code. */
export function errorExample(code: ErrorCode): object {
  return { ok: false, error: { code, message: errors[code].message, ...details[code] }, requestId: 'kD3xQz9a-17' };
}
