import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readHash } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { People, PERSON_ID } from '../../server/identity/people.ts';
import { OPERATOR_LOG } from '../operator-log.ts';

/** Requests for the approval of a second person, as Redis keeps them. */

const DAY_MS = 86_400_000;

/**
 * The Redis key of a hash: the id of a request of a person → the request. Each person has a hash of their own, so that nobody can use up
 * the room of others.
 */
const requestsKey = (person: string): string => `${OPERATOR_LOG}:requests:${person}`;

/** The Redis key of a hash: the id of a request that was answered → the answer. Only the first answer is noted. */
const REQUEST_ANSWERS = `${OPERATOR_LOG}:answers`;

/** The keys, for the audit. */
export const REQUEST_KEYS = /^\{operator-log\}:requests:person:[a-z0-9]{16}$/;
export const ANSWER_KEYS = /^\{operator-log\}:answers$/;

/** Days for which requests are kept. The operators' log keeps the outcomes of the requests. */
const KEPT_DAYS = 3;

/** The highest number of kept requests of one person. One request for a grant may have 100 KB. */
export const MOST_KEPT = 50;

/** `<id of the person>.<random>` */
export const REQUEST_ID = /^[a-z0-9]{16}\.[a-z0-9]{8}$/;

const Stored = z.object({
  at: z.number(),
  /** The person who asks. */
  by: z.string().regex(PERSON_ID),
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** The change in a sentence, as the person who asked saw it. */
  question: z.string(),
  coins: z.number(),
  reason: z.string(),
});

const Answer = z.object({ word: z.enum(['approved', 'refused']), by: z.string(), at: z.number() });

export type StoredRequest = z.output<typeof Stored>;
export type RequestAnswer = z.output<typeof Answer>;

export interface KeptRequest extends StoredRequest {
  readonly id: string;
  readonly endsAt: number;
  readonly answer: RequestAnswer | undefined;
}

const addScript = defineScript({
  name: 'operator/add-request',
  lua: `if redis.call('HLEN', requests) >= tonumber(most) then return {'full'} end
    redis.call('HSET', requests, id, request)
    return {'added'}`,
  keys: ['requests'],
  args: ['id', 'request', 'most'],
  answers: ['added', 'full'],
  durable: true,
});

const dropScript = defineScript({
  name: 'operator/drop-request',
  lua: `redis.call('HDEL', requests, id)
    redis.call('HDEL', answers, id)
    return {'dropped'}`,
  keys: ['requests', 'answers'],
  args: ['id'],
  answers: ['dropped'],
});

/** Answers a request. Of two answers at once one is the first. */
const answerScript = defineScript({
  name: 'operator/answer-request',
  lua: `if redis.call('HEXISTS', requests, id) == 0 or tonumber(now) >= tonumber(ends_at) then return {'over'} end
    if redis.call('HSETNX', answers, id, said) == 0 then return {'over'} end
    return {'answered'}`,
  keys: ['requests', 'answers'],
  args: ['id', 'endsAt', 'said'],
  answers: ['answered', 'over'],
  durable: true,
});

interface RequestServices {
  readonly scripts: ScriptRunner;
  readonly now: () => number;
}

/** All kept requests, the newest first. @param of undefined: of all people */
export async function readRequests({ scripts }: RequestServices, of?: string): Promise<KeptRequest[]> {
  const people = of === undefined ? (await new People(scripts).all()).map(({ id }) => id) : [of];
  const [answers, ...requests] = await Promise.all([
    readHash(scripts, REQUEST_ANSWERS),
    ...people.map((person) => readHash(scripts, requestsKey(person))),
  ]);
  const said = new Map(answers);
  return requests
    .flat()
    .flatMap(([id, text]): KeptRequest[] => {
      const stored = parsed(Stored, text);
      return stored === undefined ? [] : [kept(id, stored, parsed(Answer, said.get(id) ?? ''))];
    })
    .toSorted((one, other) => other.at - one.at);
}

function kept(id: string, stored: StoredRequest, answer: RequestAnswer | undefined): KeptRequest {
  return { id, ...stored, endsAt: stored.at + DAY_MS, answer };
}

/** The kept request with an id. The id names the person who asked. */
export async function findRequest(id: string, services: RequestServices): Promise<KeptRequest | undefined> {
  const [person] = id.split('.');
  return (await readRequests(services, `person:${person}`)).find((request) => request.id === id);
}

/** @returns undefined if the person has MOST_KEPT requests */
export async function addRequest(request: StoredRequest, services: RequestServices): Promise<KeptRequest | undefined> {
  const { scripts, now } = services;
  const requests = requestsKey(request.by);
  const old = (await readRequests(services, request.by)).filter(({ at }) => at < now() - KEPT_DAYS * DAY_MS);
  for (const { id } of old) await scripts.run(dropScript, { requests, answers: REQUEST_ANSWERS }, { id });
  const random = Array.from(randomBytes(8), (byte) => (byte % 36).toString(36)).join('');
  const id = `${request.by.replace(/^\w+:/, '')}.${random}`;
  const [word] = await scripts.run(addScript, { requests }, { id, request: JSON.stringify(request), most: MOST_KEPT });
  return word === 'added' ? kept(id, request, undefined) : undefined;
}

/** @returns false if the request has ended, or somebody else has answered it */
export async function answerRequest(
  { id, by, endsAt }: Pick<KeptRequest, 'id' | 'by' | 'endsAt'>,
  answer: Omit<RequestAnswer, 'at'>,
  { scripts, now }: RequestServices,
): Promise<boolean> {
  const args = { id, endsAt, said: JSON.stringify({ ...answer, at: now() }) };
  const [word] = await scripts.run(answerScript, { requests: requestsKey(by), answers: REQUEST_ANSWERS }, args);
  return word === 'answered';
}

/** Whether a text is a value of one of the two hashes, for the audit. */
export const isRequest = (text: string): boolean => parsed(Stored, text) !== undefined;
export const isAnswer = (text: string): boolean => parsed(Answer, text) !== undefined;

function parsed<Shape extends z.ZodType>(shape: Shape, text: string): z.output<Shape> | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
