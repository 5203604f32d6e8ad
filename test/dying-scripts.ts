import { CallerScripts } from '../src/accounts/caller-scripts.ts';
import type { Script } from '../src/redis/script.ts';
import type { Answer, PrologueCall, ScriptConnection } from '../src/redis/script-runner.ts';

/** The scripts of a process that dies: from a given call on all calls fail, and the answer of the call before may be lost. */
export class DyingScripts extends CallerScripts {
  /** The script names of the calls so far. */
  readonly calls: string[] = [];
  #diesBefore = Infinity;
  #losesAnswer = false;

  constructor(connection: ScriptConnection, now: () => number) {
    super(connection, { now });
  }

  /**
   * @param call number of the first call that fails, from 1
   * @param losesAnswer the call before reaches Redis, but its answer does not arrive
   */
  dieBefore(call: number, losesAnswer = false): void {
    this.#diesBefore = call;
    this.#losesAnswer = losesAnswer;
  }

  override async run<Key extends string, Argument extends string, Word extends string>(
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
    prologue?: PrologueCall,
  ): Promise<Answer<Word>> {
    this.calls.push(script.name);
    const number = this.calls.length;
    if (number >= this.#diesBefore) throw new Error('the process died');
    const answer = await super.run(script, keys, args, prologue);
    if (this.#losesAnswer && number === this.#diesBefore - 1) throw new Error('the process died');
    return answer;
  }
}
