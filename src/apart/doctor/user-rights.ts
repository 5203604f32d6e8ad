import type { Redis } from 'ioredis';
import { checkRights, MissingRights, type Rights } from '../../redis/user-rights.ts';
import type { Diagnosis } from './diagnosis.ts';
import { quoted, userOf } from './shell.ts';

/**
 * Whether the Redis user of REDIS_URL has the rights that coinop needs.
 * @param node the name of the node, on a Cluster
 * @returns false if a right is missing. The doctor then cannot examine this Redis further, and the service would not be ready
 */
export async function examineRights(redis: Redis, rights: Rights, url: string, diagnosis: Diagnosis, node?: string): Promise<boolean> {
  try {
    await checkRights(redis, rights);
    return true;
  } catch (error) {
    if (!(error instanceof MissingRights)) throw error;
    const user = quoted(userOf(url));
    diagnosis.fact(node ?? 'redis', 'does not allow what coinop needs');
    const finding = {
      text: `The user ${user} of REDIS_URL may not do what coinop needs: ${error.message.replace(/^the Redis user /, 'it ')}.`,
      cost: 'The service is not ready, and requests get 503 store_unavailable.',
      mend: `ACL SETUSER ${user} ${error.rules.map(quoted).join(' ')} # as an administrator of Redis, and the same in its users.acl or redis.conf`,
    };
    diagnosis.find('danger', 'forbidden', finding, node);
    return false;
  }
}

/**
 * Reports that the user has all rights that the service needs, but lacks a right that only the doctor needs.
 * @param message Redis's error: `NOPERM … the 'dbsize' command`
 */
export function findUnexamined(message: string, url: string, diagnosis: Diagnosis): void {
  const command = /'([\w|]+)'/.exec(message)?.[1];
  const user = quoted(userOf(url));
  diagnosis.find('note', 'not_examined', {
    text: `The doctor could not examine all of Redis: ${message.replace(/^NOPERM /, '').replace(/\.$/, '')}.`,
    cost: 'The service needs no more rights. But the facts that the doctor could not read may be wrong all the same.',
    mend: `ACL SETUSER ${user} ${quoted(`+${command ?? '@read'}`)} # as an administrator of Redis, for the user of this command`,
  });
}
