import { standingIn } from '../../accounts/account-auditor.ts';
import { accountKeyPattern } from '../../accounts/account-keys.ts';
import { CLOCKS_DIFFER_MS, type Auditor, type Command, type Finding, type Probe } from '../../consistency/auditor.ts';
import { roomKeys, SEATS_KEPT_SECONDS } from './model.ts';
import { pairsOf } from '../../redis/pairs.ts';

/** Checks the seats of rooms against the accounts that have them. `roomAuditor` checks the fields of a room against each other. */
export const seatAuditor: Auditor = {
  keys: [
    { pattern: /^\{room:([^}]*)\}$/, check: ([code], probe) => checkSeats(code!, probe) },
    { pattern: /^\{room:[^}]*\}:ticket:[\w-]+$/, type: 'string', life: 'ends' },
    { pattern: accountKeyPattern(/seats:\d+/), life: 'ends' },
  ],
};

interface Seated {
  readonly id: string;
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly joinedAt: number;
}

/**
 * Checks that the account of each seat lists the room, because a deletion frees the seats that the account's sets name. Also checks that an
 * account has one seat only, unless its guests had taken seats before they moved into it.
 */
async function checkSeats(code: string, probe: Probe): Promise<Finding[]> {
  const fields = new Map(pairsOf((await probe.ask('HGETALL', roomKeys.room(code))) as string[]));
  const seated = seatedOf(fields);
  const listed = await Promise.all(seated.map((seat) => isListed(code, seat, probe)));
  const findings: Finding[] = [];
  for (const { id, owner } of seated.filter((_, place) => listed[place] === false))
    findings.push({
      kind: 'seat_not_listed',
      subject: `account ${owner}`,
      text: `It has the seat ${id} of room ${code}, and lists no such room.`,
    });
  for (const [owner, ids] of Map.groupBy(seated, (seat) => seat.owner)) {
    if (ids.length === 1 || (await standingIn(owner, probe)).guests.length > 0) continue;
    const text = `The account ${owner} has the seats ${ids.map(({ id }) => id).join(' and ')}.`;
    findings.push({ kind: 'broken_room', subject: `room ${code}`, text });
  }
  return findings;
}

/** Seats whose record cannot be read are left out: `roomAuditor` names them. */
function seatedOf(fields: ReadonlyMap<string, string>): Seated[] {
  return [...new Set((fields.get('players') ?? '').split(' '))].flatMap((id) => {
    const joinedAt = Date.parse(/"joinedAt":"([^"]+)"/.exec(fields.get(id) ?? '')?.[1] ?? '');
    const owner = fields.get(`${id}:account`);
    return owner === undefined || Number.isNaN(joinedAt) ? [] : [{ id, owner, joinedAt }];
  });
}

async function isListed(code: string, { owner, joinedAt }: Seated, probe: Probe): Promise<boolean> {
  if (probe.now() - joinedAt > SEATS_KEPT_SECONDS * 1000 - CLOCKS_DIFFER_MS) return true;
  if (await lists(owner, code, joinedAt, probe)) return true;
  // The seat of a guest becomes the account's once the account acts. The set stays the guest's.
  const { guests, deleted, target } = await standingIn(owner, probe);
  if (deleted !== undefined || target !== undefined) return true;
  for (const { id } of guests) if (await lists(id, code, joinedAt, probe)) return true;
  return false;
}

async function lists(accountId: string, code: string, joinedAt: number, probe: Probe): Promise<boolean> {
  const times = [joinedAt, joinedAt - CLOCKS_DIFFER_MS, joinedAt + CLOCKS_DIFFER_MS];
  const keys = new Set(times.map((at) => roomKeys.seats(accountId, at)));
  return (await probe.together(...[...keys].map((key): Command => ['SISMEMBER', key, code]))).includes(1);
}
