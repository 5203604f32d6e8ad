import { createPublicKey } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import type { z } from 'zod';
import { Encoded, Reply, type Endpoint, type RequestMeta } from '../../../server/http/endpoint.ts';
import { API_AUDIENCE } from '../../../stores/apple/api-tokens.ts';
import { SANDBOX_ISSUER_ID, SANDBOX_KEY_ID } from './keys.ts';
import type { SandboxServices, ServicesWithStore } from '../sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';
import { standInEndpoint, type StandInDeclaration } from '../stand-in-endpoint.ts';

const APPLE_JSON = 'application/json';

/** An error in Apple's format: https://developer.apple.com/documentation/appstoreserverapi/error-codes */
export function appleError(status: number, errorCode: number, errorMessage: string): Reply<Encoded> {
  return new Reply(new Encoded(JSON.stringify({ errorCode, errorMessage })), { status });
}

export const transactionNotFound = (): Reply<Encoded> => appleError(404, 4040010, 'Transaction id not found.');

const unavailable = (): Reply<Encoded> => appleError(500, 5000000, 'An unknown error occurred.');

/** Declares an endpoint of the sandbox that stands in for an endpoint of the App Store Server API. */
export function appleEndpoint<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Body extends z.ZodObject | undefined,
  ReplyShape extends z.ZodObject,
>(declaration: StandInDeclaration<Params, Query, Body, ReplyShape>): Endpoint<ServicesWithStore> {
  const headers = { authorization: "Bearer and a token that the sandbox's API key has signed." };
  return standInEndpoint(
    { ...declaration, headers },
    { mediaType: APPLE_JSON, unavailable },
    { refuseRequest: refuseToken, hasFaults: true },
  );
}

/** Apple's refusal of a request whose token does not verify: 401 without a body. */
async function refuseToken({ authorization }: RequestMeta, { sandbox, now }: SandboxServices): Promise<Reply<Encoded> | undefined> {
  const token = /^Bearer ([\w.-]+)$/i.exec(authorization)?.[1] ?? '';
  try {
    const { protectedHeader, payload } = await jwtVerify(token, createPublicKey(await sandbox.appleKeys.apiKey()), {
      algorithms: ['ES256'],
      audience: API_AUDIENCE,
      issuer: SANDBOX_ISSUER_ID,
      maxTokenAge: '1h',
      requiredClaims: ['exp', 'bid'],
      currentDate: new Date(now()),
    });
    if (protectedHeader.kid === SANDBOX_KEY_ID && payload['bid'] === SANDBOX_PACKAGE_NAME) return undefined;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
  }
  return new Reply(new Encoded('{}'), { status: 401 });
}
