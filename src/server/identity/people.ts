import { hash } from 'node:crypto';
import { z } from 'zod';
import { read, readHash } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { roles } from './roles.ts';

/** The Redis key of a hash: the id of a person who has signed in to the console → the person's record. */
export const PEOPLE = '{console-people}';

const PREFIX = 'person:';
const ID_LENGTH = 16;

/** The id of a person. It is no secret: the operators' log and the ledger show it. */
export const PERSON_ID = new RegExp(`^${PREFIX}[a-z0-9]{${ID_LENGTH}}$`);

/** The id of a person, made from the issuer and the issuer's own id of the person. */
export function personIdOf(issuer: string, subject: string): string {
  const number = BigInt(`0x${hash('sha256', `coinop:person:${issuer} ${subject}`, 'hex')}`);
  return PREFIX + number.toString(36).slice(0, ID_LENGTH);
}

const Stored = z.object({
  /** The name of the provider in CONSOLE_SIGN_IN. */
  provider: z.string(),
  subject: z.string(),
  /** A name for people to read: the issuer may let each person choose it. */
  name: z.string(),
  /** The role that follows from the groups which the issuer named last. Undefined: none of the groups has a role. */
  role: z.enum(roles).optional(),
  /** When the issuer was last asked, in milliseconds since 1970. */
  at: z.number(),
});

export type PersonRecord = z.output<typeof Stored>;

export interface Person extends PersonRecord {
  readonly id: string;
}

/** Undefined if the text is not a valid record. */
export function parsePerson(text: string): PersonRecord | undefined {
  try {
    return Stored.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const noteScript = defineScript({
  name: 'identity/note-person',
  lua: `redis.call('HSET', people, id, record)
    return {'noted'}`,
  keys: ['people'],
  args: ['id', 'record'],
  answers: ['noted'],
  // If a failover lost the write, a person who lost a role would have the role again.
  durable: true,
});

/** The people who have signed in to the console, with the roles that their issuers named last. */
export class People {
  readonly #scripts: ScriptRunner;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  async note(id: string, record: PersonRecord): Promise<void> {
    await this.#scripts.run(noteScript, { people: PEOPLE }, { id, record: JSON.stringify(record) });
  }

  async find(id: string): Promise<Person | undefined> {
    const [text = ''] = await read(this.#scripts, 'HGET', PEOPLE, id);
    const record = parsePerson(text);
    return record && { id, ...record };
  }

  async all(): Promise<Person[]> {
    const records = await readHash(this.#scripts, PEOPLE);
    return records.flatMap(([id, text]) => {
      const record = parsePerson(text);
      return record === undefined ? [] : [{ id, ...record }];
    });
  }
}
