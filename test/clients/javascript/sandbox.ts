import type { TestService } from '../../harness.ts';

/** A sign-in token of the sandbox's app store for one of its users. */
export async function issue(service: TestService, subject: string): Promise<string> {
  return (await service.post('/sandbox/issue', { kind: 'id_token', subject })).body.token as string;
}
