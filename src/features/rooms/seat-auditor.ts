import { standingIn } from '../../accounts/account-auditor.ts';
import { CLOCKS_DIFFER_MS, type Auditor, type Command, type Finding, type Probe } from '../../consistency/auditor.ts';
import { roomKeys, SEATS_KEPT_SECONDS } from './model.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';

/** Checks the seats of rooms against the accounts in these seats. `roomAuditor` checks that the fields of a room agree with each other. */
export const seatAuditor: Auditor = {
  keys: [
    { pattern: /^\{room:([^}]*)\}$/, check: ([code], probe) => checkSeats(code!, probe) },
    { pattern: /^\{room:[^}]*\}:ticket:[\w-]+$/, type: 'string', life: 'ends' },
  ],
};

/** A taken seat of a room. */
interface Seated {
  /** The player id. */
  readonly id: string;
  /** The account in the seat. */
  readonly owner: string;
  /** The time at which the player took the seat, in milliseconds since 1970. */
  readonly joinedAt: number;
}

/**
 * An account has a set of rooms for each week. Checks that the account in each seat has the room in the set of the week in which it took
 * the seat, because a deletion of the account frees only seats in the rooms of these sets. Also checks that an account has one seat only,
 * unless guests had taken seats before they moved into the account.
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
      text: `The account has the seat ${id} of room ${code}, but does not list this room.`,
    });
  for (const [owner, ids] of Map.groupBy(seated, (seat) => seat.owner)) {
    if (ids.length === 1 || (await standingIn(owner, probe)).guests.length > 0) continue;
    const text = `The account ${owner} has the seats ${ids.map(({ id }) => id).join(' and ')}.`;
    findings.push({ kind: 'broken_room', subject: `room ${code}`, text });
  }
  return findings;
}

/** The taken seats of a room. Seats whose record cannot be read are left out, because `roomAuditor` reports them. */
function seatedOf(fields: ReadonlyMap<string, string>): Seated[] {
  return [...new Set((fields.get('players') ?? '').split(' '))].flatMap((id) => {
    const joinedAt = Date.parse(/"joinedAt":"([^"]+)"/.exec(fields.get(id) ?? '')?.[1] ?? '');
    const owner = fields.get(`${id}:account`);
    return owner === undefined || Number.isNaN(joinedAt) ? [] : [{ id, owner, joinedAt }];
  });
}

/**
 * Whether the account in a seat, or a guest of the account, has the room in a set. Also `true` if the set has expired, or if the account
 * moved or was deleted.
 */
async function isListed(code: string, { owner, joinedAt }: Seated, probe: Probe): Promise<boolean> {
  if (probe.now() - joinedAt > SEATS_KEPT_SECONDS * 1000 - CLOCKS_DIFFER_MS) return true;
  if (await lists(owner, code, joinedAt, probe)) return true;
  // When an account acts in a room, the seat of a guest that moved into the account becomes the account's seat. But the set with the room
  // stays with the guest.
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
