import { createPublicKey } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { z } from 'zod';
import { Encoded, Reply, type Endpoint } from '../../../server/http/endpoint.ts';
import { SECRET_AUDIENCE } from '../../../stores/openid/apple-revocation.ts';
import { SANDBOX_KEY_ID, SANDBOX_TEAM_ID } from './keys.ts';
import type { SandboxServices, ServicesWithStore } from '../sandbox-services.ts';
import { appleIdUrlAt, SANDBOX_CLIENT_ID } from '../settings.ts';
import { signToken } from '../sign-token.ts';
import { standInEndpoint, type StandInDeclaration } from '../stand-in-endpoint.ts';

/** The life of a code, in seconds, the same as at Apple. */
const CODE_SECONDS = 300;

/** The life of a refresh token, in seconds. Apple's have no end. */
const REFRESH_SECONDS = 86_400;

/** The two kinds of texts that the sandbox issues for Apple's REST API. */
type Use = 'code' | 'refresh';

/** The `authorizationCode` that an app gets when a user signs in. */
export function issueCode(subject: string, services: SandboxServices): Promise<string> {
  return issueText('code', subject, CODE_SECONDS, services);
}

function issueText(use: Use, subject: string, lifeSeconds: number, { sandbox, now }: SandboxServices): Promise<string> {
  const issuedAt = Math.floor(now() / 1000);
  return signToken(sandbox.keys, { issuedAt, expiresAt: issuedAt + lifeSeconds, subject, audience: audienceOf(use), claims: {} });
}

const audienceOf = (use: Use): string => `sandbox:apple-id:${use}`;

/** The user of a code or a token. Undefined: it does not verify. */
async function subjectOf(use: Use, text: string, { sandbox, now }: SandboxServices): Promise<string | undefined> {
  const { tokens } = await sandbox.keys.get();
  return verified(text, createPublicKey(tokens.privateKey), { audience: audienceOf(use), currentDate: new Date(now()) });
}

async function verified(text: string, ...rest: [Parameters<typeof jwtVerify>[1], Parameters<typeof jwtVerify>[2]]) {
  try {
    return (await jwtVerify(text, ...(rest as [never, never]))).payload.sub;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    return undefined;
  }
}

/** The fields of every request to Apple's REST API. */
const client = { client_id: z.string().max(255).optional(), client_secret: z.string().max(4096).optional() };

type ClientFields = z.output<z.ZodObject<typeof client>>;

/** Whether the request comes from the sandbox's app: its secret must be an ES256 token, signed with the sandbox's key. */
async function isClient({ client_id: id, client_secret: secret = '' }: ClientFields, { sandbox, now }: SandboxServices): Promise<boolean> {
  const key = createPublicKey(await sandbox.appleKeys.apiKey());
  const rules = { algorithms: ['ES256'], audience: SECRET_AUDIENCE, issuer: SANDBOX_TEAM_ID, currentDate: new Date(now()) };
  return id === SANDBOX_CLIENT_ID && (await verified(secret, key, rules)) === SANDBOX_CLIENT_ID;
}

const oauthError = (error: string): Reply<Encoded> => new Reply(new Encoded(JSON.stringify({ error })), { status: 400 });

function appleIdEndpoint<Body extends z.ZodObject, ReplyShape extends z.ZodObject>(
  declaration: Omit<StandInDeclaration<undefined, undefined, Body, ReplyShape>, 'method' | 'form'>,
): Endpoint<ServicesWithStore> {
  const manner = { mediaType: 'application/json', unavailable: () => oauthError('server_error') };
  return standInEndpoint(
    { ...declaration, method: 'POST', form: true } as StandInDeclaration<undefined, undefined, Body, ReplyShape>,
    manner,
    {
      hasFaults: false,
    },
  );
}

const description = `Requires a \`client_secret\` by ES256 of the sandbox's key \`${SANDBOX_KEY_ID}\`. Errors are 400 in the format of RFC 6749, section 5.2.`;

export const sandboxAppleToken = appleIdEndpoint({
  path: `${appleIdUrlAt('')}/auth/token`,
  operationId: 'sandboxGetAppleToken',
  summary: "The sandbox's stand-in for appleid.apple.com/auth/token: exchanges a code for tokens.",
  description,
  body: z.object({ ...client, code: z.string().max(4096).optional(), grant_type: z.string().max(64).optional() }),
  reply: z
    .object({
      access_token: z.string(),
      token_type: z.literal('Bearer'),
      expires_in: z.int(),
      refresh_token: z.string(),
      id_token: z.string(),
    })
    .meta({
      example: {
        access_token: 'a',
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: 'signed-by-the-sandbox',
        id_token: 'signed-by-the-sandbox',
      },
    }),
  example: `curl -s $base${appleIdUrlAt('')}/auth/token -d 'grant_type=authorization_code' -d 'code=code-of-the-sandbox'`,
  async handle({ body }, services) {
    if (!(await isClient(body, services))) return oauthError('invalid_client');
    if (body.grant_type !== 'authorization_code') return oauthError('unsupported_grant_type');
    const subject = await subjectOf('code', body.code ?? '', services);
    if (subject === undefined) return oauthError('invalid_grant');
    const { sandbox, now } = services;
    const issuedAt = Math.floor(now() / 1000);
    const issuer = sandbox.providers.named('apple').issuers[0]!;
    const idToken = { issuedAt, expiresAt: issuedAt + 3600, subject, issuer, audience: SANDBOX_CLIENT_ID, claims: {} };
    const refreshToken = await issueText('refresh', subject, REFRESH_SECONDS, services);
    return {
      access_token: refreshToken,
      token_type: 'Bearer' as const,
      expires_in: 3600,
      refresh_token: refreshToken,
      id_token: await signToken(sandbox.keys, idToken),
    };
  },
});

export const sandboxAppleRevoke = appleIdEndpoint({
  path: `${appleIdUrlAt('')}/auth/revoke`,
  operationId: 'sandboxRevokeAppleToken',
  summary: "The sandbox's stand-in for appleid.apple.com/auth/revoke.",
  description: `${description} As Apple, it answers 200 for dead tokens too.`,
  body: z.object({ ...client, token: z.string().max(4096).optional(), token_type_hint: z.string().max(64).optional() }),
  reply: z.object({}),
  example: `curl -s $base${appleIdUrlAt('')}/auth/revoke -d 'token=token-of-the-sandbox'`,
  async handle({ body }, services) {
    return (await isClient(body, services)) ? {} : oauthError('invalid_client');
  },
});
