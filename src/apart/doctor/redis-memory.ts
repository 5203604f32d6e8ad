import type { Redis } from 'ioredis';
import { sizeText, totalMemory } from '../../process/memory.ts';
import type { Diagnosis } from './diagnosis.ts';
import { examineAccounts } from './fast-accounts.ts';
import { drawKeys, estimateGrowth, type Growth } from './growth.ts';
import { KEEP, type NodeFacts } from './redis-node.ts';

const DANGER_PART = 0.9;
const WARNING_PART = 0.75;

/**
 * If maxmemory is not set, Redis's use of memory is a danger from this part of the machine's memory on. During a fork, for a rewrite or a
 * backup, Redis may need a second copy of all memory that changes.
 */
const DANGER_PART_OF_MACHINE = 0.8;

/** If maxmemory is not set, Redis's use of memory is worth a warning from this part of the machine's memory on. */
const WARNING_PART_OF_MACHINE = 0.5;

const DANGER_DAYS = 7;
const WARNING_DAYS = 30;

/** The place in which the examined Redis runs, and its name. */
export interface NodePlace {
  readonly isOnThisMachine: boolean;
  /** Whether the service itself starts this Redis, and so controls its settings. */
  readonly isPrivate: boolean;
  readonly node?: string | undefined;
}

/**
 * Compares the used memory with maxmemory or the machine's memory, and estimates how long the rest will last if the data grows as on the
 * last day.
 * @returns the growth, if it could be estimated
 */
export async function examineMemory(redis: Redis, facts: NodeFacts, diagnosis: Diagnosis, place: NodePlace): Promise<Growth | undefined> {
  const { isOnThisMachine, isPrivate, node } = place;
  const numberOf = (name: string): number => Number(facts.info.get(name) ?? 0);
  const [used, most] = [numberOf('used_memory'), numberOf('maxmemory')];
  const ofMachine = Math.min(...[numberOf('total_system_memory'), isOnThisMachine ? (totalMemory() ?? 0) : 0].filter((bytes) => bytes > 0));
  const isBounded = most > 0;
  const bound = isBounded ? most : ofMachine;
  if (!Number.isFinite(bound)) {
    diagnosis.fact(nameOf('memory', node), `${sizeText(used)} of an unknown size`);
    return undefined;
  }
  const [draws, now] = [await drawKeys(redis), Date.now()];
  const growth = await estimateGrowth(redis, draws, now);
  const days = growth && daysLeft(used - numberOf('used_memory_startup'), bound - used, growth.partADay);
  const of = isBounded ? 'maxmemory' : "the machine's memory";
  const part = used / bound;
  const state = `${sizeText(used)} of ${sizeText(bound)}, ${percent(part)} of ${of}`;
  diagnosis.fact(nameOf('memory', node), state);
  diagnosis.fact(nameOf('growth', node), growthText(growth, days));
  await examineAccounts(redis, draws, now, diagnosis, node);
  const [danger, warning] = isBounded ? [DANGER_PART, WARNING_PART] : [DANGER_PART_OF_MACHINE, WARNING_PART_OF_MACHINE];
  const isSoon = days !== undefined && days < WARNING_DAYS;
  const cost = isBounded
    ? 'Then Redis refuses writes: all coin operations get 503, and nothing is lost.'
    : 'Then the kernel ends Redis, or the machine hangs. A fork for a rewrite or a backup needs even more memory.';
  // The recommended maxmemory is twice the used memory, if the machine has that much.
  const more = Math.min(2 * bound, ofMachine * WARNING_PART);
  const mend =
    isBounded && !isPrivate && more > bound
      ? `${setMemory(facts.client, more)}; or a machine with more memory`
      : 'A machine with more memory, or LEDGER_RETENTION_DAYS';
  if (part >= warning || isSoon)
    diagnosis.find(
      part >= danger || (days !== undefined && days < DANGER_DAYS && growth!.isOfDay) ? 'danger' : 'warning',
      'memory',
      { text: `Redis uses ${state}. ${growthText(growth, days)}.`, cost, mend },
      node,
    );
  if (!isBounded && !isPrivate)
    diagnosis.find(
      'note',
      'no_maxmemory',
      {
        text: 'Redis has no limit on its memory (maxmemory 0).',
        cost: 'When the memory of the machine is full, the kernel ends Redis. With a limit Redis refuses writes, and serves reads.',
        mend: setMemory(facts.client, bound * WARNING_PART),
      },
      node,
    );
  return growth;
}

function setMemory(client: string, bytes: number): string {
  return `${client} CONFIG SET maxmemory ${Math.floor(bytes / 2 ** 20)}mb # ${KEEP}`;
}

function nameOf(fact: string, node: string | undefined): string {
  return node === undefined ? fact : `${fact} of ${node}`;
}

function daysLeft(data: number, free: number, partADay: number): number | undefined {
  const aDay = data * partADay;
  return aDay > 0 ? Math.max(0, free) / aDay : undefined;
}

function growthText(growth: Growth | undefined, days: number | undefined): string {
  if (growth === undefined || days === undefined) return 'Too few coin operations in the last day, or too young data, to tell the growth';
  const { partADay, error, ledgers } = growth;
  return `At the growth of the last day it is full in ${spanText(days)} (estimated from ${ledgers} ledgers: ${percent(partADay)} of their entries a day, ± ${percent(error)})`;
}

function spanText(days: number): string {
  if (days > 3650) return 'more than ten years';
  if (days >= 2) return `${Math.round(days)} days`;
  return days * 24 >= 1 ? `${Math.round(days * 24)} hours` : 'less than an hour';
}

function percent(part: number): string {
  return `${part >= 0.1 ? Math.round(part * 100) : Number((part * 100).toPrecision(2))} %`;
}
