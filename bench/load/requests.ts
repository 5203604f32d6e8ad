import { operation, type LoadOrder, type RequestPlan } from './order.ts';

/** Makes the requests of an order from their numbers. */
export interface RequestMaker {
  /** The complete HTTP/1.1 request. */
  text(number: number): string;
  /** The number of the request's coin operation, or undefined for a request that is none. */
  operation(number: number): number | undefined;
}

type Value = (number: number) => string;

export function requestMaker(order: LoadOrder): RequestMaker {
  const { host } = new URL(order.url);
  const makers = order.requests.map((plan) => ({ plan, text: compile(plan, host, order) }));
  const turns = spread(order.requests.map(({ share = 1 }) => share));
  const makerOf = (number: number): (typeof makers)[number] => makers[turns[number % turns.length]!]!;
  const reduced = (plan: RequestPlan, number: number): number => (plan.repeats === undefined ? number : number % plan.repeats);
  return {
    text(number) {
      const { plan, text } = makerOf(number);
      return text(reduced(plan, number));
    },
    operation(number) {
      const { plan } = makerOf(number);
      return plan.isOperation === true ? reduced(plan, number) : undefined;
    },
  };
}

/** A sequence of indexes in which each appears `share` times, evenly mixed and equal in every run: [4, 1] gives 0 0 1 0 0. */
export function spread(shares: readonly number[]): number[] {
  const total = shares.reduce((sum, share) => sum + share, 0);
  const sent = shares.map(() => 0);
  return Array.from({ length: total }, (_, turn) => {
    // The kind that is furthest behind its share is next.
    const behind = shares.map((share, index) => (share * (turn + 1)) / total - sent[index]!);
    const next = behind.indexOf(Math.max(...behind));
    sent[next]!++;
    return next;
  });
}

function compile(plan: RequestPlan, host: string, order: LoadOrder): Value {
  const headers = Object.entries(plan.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  const line = template(`${plan.method} ${plan.path} HTTP/1.1\r\nhost: ${host}\r\n${headers.join('')}`, order);
  if (plan.body === undefined) {
    const always = `${line(0)}\r\n`;
    return /\$/.test(plan.path + headers.join('')) ? (number) => `${line(number)}\r\n` : () => always;
  }
  const body = template(plan.body, order);
  return (number) => {
    const text = body(number);
    // The body is ASCII, so its length in characters is its length in bytes.
    return `${line(number)}content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  };
}

function template(text: string, { callers, keyPrefix }: LoadOrder): Value {
  const values: Record<string, Value> = {
    $cookie: (number) => callers[number % callers.length]!.cookie!,
    $installId: (number) => callers[number % callers.length]!.installId,
    $key: (number) => operation(number, keyPrefix).key,
    $coins: (number) => String(operation(number, keyPrefix).coins),
    $score: (number) => String((number * 7919) % 1_000_003),
  };
  // The split puts the names of values at the odd indexes.
  const parts = text.split(/(\$[a-zA-Z]+)/).map((part, index): string | Value => {
    if (index % 2 === 0) return part;
    const value = values[part];
    if (value === undefined) throw new Error(`a request has an unknown value ${part}`);
    return value;
  });
  return (number) => {
    let filled = '';
    for (const part of parts) filled += typeof part === 'string' ? part : part(number);
    return filled;
  };
}
