import { schema, t } from '@colyseus/schema';

/** A room in Colyseus's schemas whose players each have data: the server keeps it, and the clients decode into it. */

export const Seat = schema({ id: t.string(), x: t.number(), y: t.number(), n: t.number() }, 'Seat');

export const SeatsState = schema({ code: t.string(), players: t.map(Seat) }, 'SeatsState');
export type SeatsState = InstanceType<typeof SeatsState>;
