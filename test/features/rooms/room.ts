import { expect, onTestFinished } from 'vitest';
import { freshId, type TestReply, type TestService } from '../../harness.ts';
import { Watcher, type WatchOptions } from '../../realtime/watcher.ts';

/** A room under test. */
export interface TestRoom {
  readonly code: string;
  /** The installId of the host. */
  readonly host: string;
  act(action: string, installId: string, more?: object): Promise<TestReply>;
  /** Seats a new install and returns its installId. */
  join(name?: string): Promise<string>;
  read(): Promise<TestReply['body']>;
}

export async function open(service: TestService, settings: object = {}): Promise<TestRoom> {
  const host = freshId();
  const { status, body } = await service.post('/v1/rooms', { installId: host, ...settings });
  expect([status, body.error]).toEqual([200, undefined]);
  const { code } = body.room;
  const act = (action: string, installId: string, more?: object): Promise<TestReply> =>
    service.post(`/v1/rooms/${code}/${action}`, { installId, ...more });
  return {
    code,
    host,
    act,
    async join(name) {
      const installId = freshId();
      expect((await act('join', installId, { name })).status).toBe(200);
      return installId;
    },
    read: async () => (await service.get(`/v1/rooms/${code}`)).body.room,
  };
}

/** A channel of a room. It is closed when the test ends. */
export async function watched(at: TestService, code: string, query = '', options?: WatchOptions): Promise<Watcher> {
  const watcher = await Watcher.open(at.url, `/v1/rooms/${code}/live${query}`, options);
  onTestFinished(() => (watcher.isClosed ? undefined : watcher.close()));
  return watcher;
}

/** A welcomed channel of a player. */
export async function seated(at: TestService, { code }: TestRoom, installId: string, tab = 'tab'): Promise<Watcher> {
  const watcher = await watched(at, code);
  expect((await watcher.hello(installId, tab)).type).toBe('welcome');
  return watcher;
}

/** Status and error code of a reply. */
export const refusal = ({ status, body }: TestReply): [number, string] => [status, body.error?.code];
