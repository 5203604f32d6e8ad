import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { SignIn, signInsOf } from './model.ts';

export const listSignIns = endpoint({
  method: 'GET',
  path: '/v1/account/sign-ins',
  operationId: 'listSignIns',
  caller: 'session',
  summary: "The sign-ins of the session's account: the providers with which its user signs in.",
  description: 'The oldest first. The account of an install has none. `POST /v1/account/sign-ins` adds one, `…/remove` removes one.',
  reply: z.object({ signIns: z.array(SignIn) }),
  example: `curl -s $base/v1/account/sign-ins -b cookies.txt`,
  async handle({ caller }, services: Pick<Services, 'scripts' | 'config'>) {
    return { signIns: await signInsOf(caller, services) };
  },
});
