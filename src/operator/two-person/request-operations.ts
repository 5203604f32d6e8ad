import { z } from 'zod';
import { invalid, refuse, Refusal } from '../../errors.ts';
import { check } from '../../server/http/request-data.ts';
import { People, PERSON_ID } from '../../server/identity/people.ts';
import { mayAct } from '../../server/identity/roles.ts';
import { adjust } from '../adjust.ts';
import { grantMany } from '../grant-many.ts';
import { takeBack } from '../take-back-grant.ts';
import {
  judge,
  operation,
  perform,
  Reason,
  refuseRole,
  type Change,
  type Operation,
  type Operator,
  type OperatorServices,
} from '../operation.ts';
import { addRequest, answerRequest, findRequest, MOST_KEPT, readRequests, REQUEST_ID, type KeptRequest } from './requests.ts';

/**
 * Changes above TWO_PERSON_COINS need the approval of a second person. One person asks for the approval in the console, and another person
 * approves or refuses there. A server key can neither ask nor approve, because nobody knows who holds it. So these operations are not below
 * `/v1/admin`. The tool has none of them either, because the tool's user has access to Redis.
 */

/** The changes that a second person can approve: those with coins. */
const approvable = [adjust, grantMany, takeBack] as unknown as readonly Operation[];

const errors = [...new Set(['forbidden', 'invalid_request', ...approvable.flatMap((declared) => declared.errors ?? [])] as const)];

const Id = z.string().regex(REQUEST_ID, 'Must be the id of a request');

const ShownRequest = z.object({
  id: Id,
  at: z.iso.datetime(),
  endsAt: z.iso.datetime(),
  by: z.string(),
  operation: z.string(),
  question: z.string(),
  coins: z.number(),
  reason: z.string(),
  state: z.enum(['open', 'ended', 'approved', 'refused']),
  answeredBy: z.string().optional(),
  answeredAt: z.iso.datetime().optional(),
});

const iso = (at: number): string => new Date(at).toISOString();

function shownRequest({ id, at, endsAt, by, operation: name, question, coins, reason, answer }: KeptRequest, now: number) {
  return {
    ...{ id, at: iso(at), endsAt: iso(endsAt), by, operation: name, question, coins, reason },
    state: answer?.word ?? (now < endsAt ? ('open' as const) : ('ended' as const)),
    ...(answer === undefined ? {} : { answeredBy: answer.by, answeredAt: iso(answer.at) }),
  };
}

const listRequests = operation({
  name: 'requests list',
  method: 'GET',
  path: '/console/requests',
  operationId: 'listRequests',
  role: 'viewer',
  summary: 'The requests for the approval of a second person in the last days, the newest first.',
  input: z.object({}),
  reply: z.object({ requests: z.array(ShownRequest) }),
  example: '',
  prepare: async (_, services) => ({
    reply: { requests: (await readRequests(services)).map((request) => shownRequest(request, services.now())) },
  }),
});

const askSecond = operation({
  name: 'requests ask',
  method: 'POST',
  path: '/console/requests',
  operationId: 'askSecondPerson',
  role: 'support',
  title: 'Ask for a second person’s yes',
  summary: 'Asks a second person to approve a change of coins.',
  keyedBodyBytes: 129 * 1024,
  input: z.object({ operation: z.string().max(40), input: z.looseObject({}), reason: Reason }),
  reply: z.object({ request: ShownRequest }),
  errors,
  example: '',
  async prepare({ operation: name, input, reason }, services, operator) {
    const { by } = operator;
    if (!PERSON_ID.test(by)) return refuseKey();
    const declared = approvable.find((each) => each.name === name);
    if (declared === undefined) return invalid('operation', 'Is no change that a second person approves');
    const given = check(declared.input, input)!;
    const judged = await judge(declared, given, services, operator);
    if (judged instanceof Refusal) return judged;
    if ('reply' in judged) return invalid('operation', 'There is nothing to change');
    // A part of a large grant may be small enough for one person although the grant is not.
    const { refusal } = judged.limits;
    if (refusal !== undefined && refusal.details['needs'] !== 'second_person') return refusal;
    const { question = '', typed, what, foreseen } = judged.change;
    if (foreseen !== undefined) return foreseen;
    const coins = coinsOf(judged.change);
    return {
      question: `Ask another person for the yes to this, within a day? ${question}`,
      typed,
      what: { operation: name, ...what },
      why: reason,
      noted: ({ request: { id } }) => ({ request: id }),
      async act() {
        const at = services.now();
        const request = await addRequest({ at, by, operation: name, input: given, question, coins, reason }, services);
        if (request === undefined)
          return refuse('forbidden', { message: `You have ${MOST_KEPT} requests of the last days: wait for an answer.` });
        return { request: shownRequest(request, at) };
      },
    };
  },
});

const approve = operation({
  name: 'requests approve',
  method: 'POST',
  path: '/console/requests/{id}/approve',
  operationId: 'approveRequest',
  role: 'support',
  title: 'Say yes',
  summary: 'Approves the request of another person: the change happens.',
  cannotBeUndone: true,
  input: z.object({ id: Id, reason: Reason }),
  reply: z.object({ id: Id, result: z.looseObject({}) }),
  errors,
  example: '',
  async prepare({ id, reason }, services, operator) {
    const found = await openRequest(id, services, operator);
    if (found instanceof Refusal) return found;
    if (found.by === operator.by)
      return refuse('forbidden', { message: 'You have asked for this yourself: another person has to approve it.' });
    const declared = approvable.find(({ name }) => name === found.operation);
    if (declared === undefined) return invalid('id', 'Asks for a change that this version does not have');
    const least = declared.roleFor?.(found.input as never, services.config) ?? declared.role;
    if (!mayAct(operator.role, least)) return refuseRole(operator.role, least);
    // The change is judged once more as a change of the person who asked, with the role that this person has now.
    const asker = await new People(services.scripts).find(found.by);
    if (asker?.role === undefined) return refuse('forbidden', { message: 'The person who asked has no role in the console any more.' });
    const as: Operator = { by: found.by, role: asker.role, approvedBy: operator.by };
    const judged = await judge(declared, found.input, services, as);
    if (judged instanceof Refusal) return judged;
    if ('reply' in judged) return invalid('id', 'There is nothing to change');
    if (judged.limits.refusal !== undefined) return judged.limits.refusal;
    const { question = '', typed, what, foreseen } = judged.change;
    if (foreseen !== undefined) return foreseen;
    return {
      question: `Say yes to what ${asker.name} asked for (${found.reason})? ${question}`,
      typed,
      what: { request: id, operation: found.operation, ...what },
      why: reason,
      async act() {
        if (!(await answerRequest(found, { word: 'approved', by: operator.by }, services))) return invalid('id', OVER);
        const result = await perform<object>(declared, found.input, services, as);
        return result instanceof Refusal ? result : { id, result };
      },
    };
  },
});

const refuseRequest = operation({
  name: 'requests refuse',
  method: 'POST',
  path: '/console/requests/{id}/refuse',
  operationId: 'refuseRequest',
  role: 'support',
  title: 'Say no',
  summary: 'Refuses a request of another person, or withdraws one’s own.',
  input: z.object({ id: Id, reason: Reason }),
  reply: z.object({ id: Id }),
  errors: ['forbidden', 'invalid_request'],
  example: '',
  async prepare({ id, reason }, services, operator) {
    const found = await openRequest(id, services, operator);
    if (found instanceof Refusal) return found;
    return {
      question: `${found.by === operator.by ? 'Withdraw your request' : 'Say no'}? ${found.question}`,
      what: { request: id, operation: found.operation },
      why: reason,
      async act() {
        return (await answerRequest(found, { word: 'refused', by: operator.by }, services)) ? { id } : invalid('id', OVER);
      },
    };
  },
});

/** All operations of requests. They need a session of the console, which a person opened. */
export const requestOperations = [listRequests, askSecond, approve, refuseRequest] as unknown as readonly Operation[];

const OVER = 'Has ended, or somebody else has answered it';

async function openRequest(id: string, services: OperatorServices, { by }: Operator): Promise<KeptRequest | Refusal> {
  if (!PERSON_ID.test(by)) return refuseKey();
  const found = await findRequest(id, services);
  if (found === undefined) return invalid('id', 'There is no such request');
  return found.answer === undefined && services.now() < found.endsAt ? found : invalid('id', OVER);
}

const refuseKey = () =>
  refuse('forbidden', { message: 'Only people who are signed in to the console can ask and answer: a server key cannot.' });

const coinsOf = ({ coins }: Change<object>): number => (coins?.shares ?? []).reduce((sum, [, share]) => sum + share, 0);
