export { coinop, type Options, type Watch } from '../../../src/client/client.ts';
export { listRooms, playRoom, quickMatch, watchBoard, watchLobby } from '../../../src/client/rooms.ts';
export { savesOf } from '../../../src/client/saves.ts';
export type { Socket } from '../../../src/client/watched.ts';
// Modules that the client loads when it first needs them: here at once, so that no load of a file falls into a case.
import '../../../src/client/patch.ts';
import '../../../src/client/account.ts';
import '../../../src/client/pairing.ts';
import '../../../src/client/sign-ins.ts';
import '../../../src/client/watched-room.ts';
