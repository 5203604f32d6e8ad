import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { invalid } from '../../../errors.ts';
import { USER_EVENTS } from '../../../stores/openid/user-event.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_CLIENT_ID } from '../settings.ts';

export const accountNotificationFields = {
  type: z
    .string()
    .max(64)
    .optional()
    .meta({ description: `account_notification: ${USER_EVENTS.map((type) => `\`${type}\``).join(', ')}, or any other text.` }),
};

interface NotificationOrder {
  readonly subject?: string | undefined;
  readonly type?: string | undefined;
}

/** Makes a notification about a user in Apple's format: https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts */
export async function issueAccountNotification({ subject, type }: NotificationOrder, { sandbox, now }: SandboxServices) {
  if (subject === undefined) throw invalid('subject', 'Must be the user whose Apple Account changed');
  if (type === undefined) throw invalid('type', 'Must be the type of the change');
  const { tokens } = await sandbox.keys.get();
  const events = JSON.stringify({ type, sub: subject, event_time: now() });
  const payload = await new SignJWT({ events })
    .setProtectedHeader({ alg: 'RS256', kid: tokens.kid })
    .setIssuer(sandbox.providers.named('apple').issuers[0]!)
    .setAudience(SANDBOX_CLIENT_ID)
    .setIssuedAt(Math.floor(now() / 1000))
    .setJti(randomUUID())
    .sign(tokens.privateKey);
  return { payload, subject };
}
