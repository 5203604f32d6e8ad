import { pairsOf } from '../../../redis/reply-pairs.ts';
import { readHash } from '../../../redis/reads.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';

/** The fields of a purchase's record. A field that Redis does not have is ''. */
export class PurchaseFields {
  readonly #fields: ReadonlyMap<string, string>;

  /** @param fields of the hash, or the words of a script's answer: field, value, field, value … */
  constructor(fields: ReadonlyMap<string, string> | readonly string[]) {
    this.#fields = fields instanceof Array ? new Map(pairsOf(fields)) : fields;
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  text(name: string): string {
    return this.#fields.get(name) ?? '';
  }

  number(name: string): number {
    return Number(this.text(name));
  }

  words(name: string): string[] {
    return this.text(name) === '' ? [] : this.text(name).split(' ');
  }
}

/** Reads the record with this Redis key. Undefined: there is none. */
export async function readFields(purchase: string, scripts: ScriptRunner): Promise<PurchaseFields | undefined> {
  const found = await readHash(scripts, purchase);
  return found.length === 0 ? undefined : new PurchaseFields(new Map(found));
}
