import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { refuse } from '../../errors.ts';
import { endpoint, type Services } from '../../declare.ts';
import { actFields, actionNames, actionOf, actions, bodyOf, isAction } from './actions.ts';
import { awayText, RoomCode, seatedReply, SeatedReply } from './model.ts';
import { actCodes } from './room-acts.ts';

const OPEN_A_ROOM =
  `code=$(curl -s $base/v1/rooms -H 'content-type: application/json' -d '{"installId":"install-0001"}' | ` +
  `sed 's/.*"code":"\\([A-Z]*\\)".*/\\1/'); `;

const variants = actionNames.map((name) => {
  const { operationId, summary, example = {}, isOfPlayers, errors } = actionOf(name);
  const body = JSON.stringify({ installId: name === 'join' ? 'install-0002' : 'install-0001', ...example });
  return {
    value: name,
    takesKey: isOfPlayers !== true,
    operationId,
    summary,
    body: bodyOf(name),
    errors: ['identity_required', ...errors] as const,
    example: `${OPEN_A_ROOM}curl -s $base/v1/rooms/$code/${name} -H 'content-type: application/json' -d '${body}'`,
  };
});

export const actInRoom = endpoint({
  method: 'POST',
  path: '/v1/rooms/{code}/{action}',
  operationId: 'actInRoom',
  // `optional`, because the handler checks the action before the caller, so that an unknown action is 400 with or without credentials.
  caller: 'optional',
  keyScope: 'rooms',
  reach: 'room',
  keyNeedsAccount: false,
  summary: `Performs one action in a room: ${actionNames.slice(0, -1).join(', ')} or ${actionNames.at(-1)}.`,
  description: [
    'Every action is atomic, and raises `seq` only if it changes the room.',
    ...actionNames.map((name) => `- \`${name}\`: ${actions[name].rule}`),
    '',
    'With `order`, a whole number that a tab raises with each act, an act is done at most once: if the order is not above the last order ' +
      'of the `tab`, the act changes nothing, and the answer has `replayed: true`. A refused act does not use its order up. A seat ' +
      'remembers its newest 8 tabs; without `tab` the acts of a seat count as those of one more tab.',
    '',
    'A server key of the scope `rooms` acts as the host of any room of its game, and a key without a game as the host of any room. It ' +
      'names no account, and `you` in its answers is the seat of the host after the action. `kick` may remove the host too: then, as ' +
      'when a host leaves, the longest-seated player becomes the host, and a room without players ends. With `rematch` the host is the ' +
      'first player of the lobby; a room that all players have left has no rematch (409 `room_ended`). `join`, `leave`, `ready`, ' +
      '`unready` and `data` are 403 `forbidden`: a server has no seat.',
  ].join('\n'),
  params: z.object({ code: RoomCode, action: z.string().meta({ enum: actionNames }) }),
  body: z.object({ installId: OptionalInstallId, ...actFields }),
  emptyBody: true,
  reply: SeatedReply,
  errors: ['unknown_action', 'identity_required', ...actCodes],
  misses: ['room_not_found'],
  variants,
  example: variants[0]!.example,
  async handle({ params: { code, action }, body, caller, key, meta }, services: Pick<Services, 'roomActs' | 'actCounts' | 'names'>) {
    const { roomActs, actCounts, names } = services;
    if (!isAction(action)) return refuse('unknown_action', { field: 'action' });
    const by = key ?? caller;
    if (by === undefined) return refuse('identity_required');
    const sent = action === 'join' ? { ...body, name: names.shown(caller?.accountId, body.name) } : body;
    const { fields, you, isReplayed, away } = await actCounts.counted(action, 'http', () =>
      roomActs.perform({ code, action, body: sent, by, isWhole: true, address: meta.address }),
    );
    return seatedReply(fields, you, isReplayed, awayText(away));
  },
});
