/** A mistake in a client that a developer could make. The cases have to catch it. */
export interface ClientMistake {
  readonly language: string;
  readonly name: string;
  /** Below src/clients/LANGUAGE. */
  readonly file: string;
  /** The right text. The file has it once. */
  readonly before: string;
  readonly after: string;
}

const of = (language: string, folder: string, ...rows: readonly (readonly [name: string, file: string, before: string, after: string])[]) =>
  rows.map(([name, file, before, after]): ClientMistake => ({ language, name, file: folder + file, before, after }));

export const mistakes: readonly ClientMistake[] = [
  ...of(
    'javascript',
    '',
    ['a 500 is a final refusal of a coin operation', 'pending-operations.ts', '[400, 403, 409,', '[400, 403, 500, 409,'],
    [
      'an operation is removed before its answer',
      'pending-operations.ts',
      'if (credential) result = await send',
      'if (credential) await store.put(id);\n    if (credential) result = await send',
    ],
    [
      'a repeated operation has a new key',
      'client.ts',
      'to(operations[type], input as never',
      "to(operations[type], ('key' in input ? { ...input, key: input.key + Math.random() } : input) as never",
    ],
    ['a room is created again after a lost answer', 'routes.ts', "create: '!POST /v1/rooms'", "create: 'POST /v1/rooms'"],
    [
      'retryAfterMs is not waited for',
      'request.ts',
      'Math.min(retryAfterMs, 60_000) + Math.random()',
      'Math.min(retryAfterMs, 0) + Math.random()',
    ],
    ['the answer of any server counts', 'request.ts', 'if (body.ok === (status === 200) &&', 'if ((body.ok || true) &&'],
    ['an older room is shown', 'progress.ts', 'found > progress.position)', 'found !== progress.position)'],
    ['a patch of another room is applied', 'patch.ts', "if (from !== (room as Members)['seq']) throw new Error();", ''],
    [
      'an act is sent again under a new order',
      'act-queue.ts',
      'act.order ||= nextOrder++;\n      sent.push',
      'act.order = nextOrder++;\n      sent.push',
    ],
    ['a final close is opened again', 'watch.ts', 'code === 4500 || code === 4501', 'code === 4500'],
    [
      'a session that ended falls back to the install',
      'identity.ts',
      'if (!sessionToken) return byInstall(installId);',
      'if (!sessionToken || askedAt) return byInstall(installId);',
    ],
    [
      'an older save is sent after a newer one',
      'saves.ts',
      'if (options.onSaved && waits) await give',
      'if (waits) await store.put(key, JSON.stringify(kept));\n      if (options.onSaved && waits) await give',
    ],
    [
      'a clock that is set back reorders operations',
      'pending-operations.ts',
      'lastStamp = Math.max(lastStamp + 1, Date.now());',
      'lastStamp = Date.now();',
    ],
  ),
  ...of(
    'python',
    'coinop/',
    ['a 500 is a final refusal of a coin operation', '_outbox.py', 'DEFINITE = (400, 403,', 'DEFINITE = (400, 403, 500,'],
    ['an operation is sent before it is stored', '_outbox.py', '        self._store.put(key, text)\n', ''],
    [
      'a repeated operation has a new key',
      '_outbox.py',
      'OPERATIONS[kind], given, credential,',
      'OPERATIONS[kind], {**given, "key": random_text()}, credential,',
    ],
    [
      'a message is sent again after a lost answer',
      'client.py',
      'or (route.startswith("!") and ("outcome" in error',
      'or (False and ("outcome" in error',
    ],
    ['retryAfterMs is not waited for', '_request.py', 'return min(asked, 60_000) + random', 'return min(asked, 0) + random'],
    ['the answer of any server counts', '_request.py', 'body.get("ok") is (status == 200)', 'body.get("ok") is not None'],
    ['an older room is shown', '_watch.py', 'elif found > self._position:', 'elif found != self._position:'],
    ['a patch of another room is applied', '_patch.py', 'or sequence_from != room.get("seq")', ''],
    ['an act is sent again under a new order', '_acts.py', '        if not act.order:\n', '        if True:\n'],
    ['a final close is opened again', '_watch.py', 'code in (4500, 4501)', 'code == 4500'],
    ['the install of a moved account is used again', '_identity.py', 'is_over = is_deleted or ', 'is_over = is_deleted and '],
    ['a newer save is lost to an older one', '_saves.py', 'if latest.get("text") == text:', 'if True:'],
    [
      'a clock that is set back reorders operations',
      '_outbox.py',
      'max(self._last_stamp + 1, int(self._client._clock.wall()))',
      'int(self._client._clock.wall())',
    ],
  ),
  ...of(
    'csharp',
    'Runtime/Core/',
    ['a 500 is a final refusal of a coin operation', 'Outbox.cs', 'Definite = { 400, 403,', 'Definite = { 400, 403, 500,'],
    ['an operation is sent before it is stored', 'Outbox.cs', 'client.Storage.Put(key, text);', 'client.Storage.Get(text);'],
    [
      'a repeated operation has a new key',
      'Outbox.cs',
      'entry.Operation.Without("type"), credential,',
      'entry.Operation.Without("type").With("key", Randoms.Text()), credential,',
    ],
    [
      'a message is sent again after a lost answer',
      'Client.cs',
      "(route[0] == '!' && Requests.IsUnclear(error))",
      "(route[0] == '?' && Requests.IsUnclear(error))",
    ],
    [
      'retryAfterMs is not waited for',
      'Request.cs',
      'Math.Min(error["retryAfterMs"].Double, 60000)',
      'Math.Min(error["retryAfterMs"].Double, 0)',
    ],
    ['the answer of any server counts', 'Request.cs', 'IsOk(body) == (status == 200)', '(IsOk(body) || status > 0)'],
    ['whole numbers pass through a double', 'Json.cs', 'out var whole)) return whole;', 'out var whole)) return (double)(float)whole;'],
    ['an older room is shown', 'Watch.cs', 'found.Value > Position)', 'found.Value != Position)'],
    ['a patch of another room is applied', 'Patch.cs', ' || from.Long != room["seq"].Long', ''],
    ['an act is sent again under a new order', 'Acts.cs', 'if (act.Order == 0) act.Order = nextOrder++;', 'act.Order = nextOrder++;'],
    ['a final close is opened again', 'Watch.cs', 'code == 4500 || code == 4501', 'code == 4500'],
    ['the install of a moved account is used again', 'Identity.cs', 'isOver = isDeleted || ', 'isOver = isDeleted && '],
    ['a newer save is lost to an older one', 'Saves.cs', 'if (latest["text"].Text == text) {', 'if (latest.Count > 0) {'],
    [
      'a clock that is set back reorders operations',
      'Outbox.cs',
      'Math.Max(lastStamp + 1, (long)client.Loop.Clock.Wall())',
      '(long)client.Loop.Clock.Wall()',
    ],
  ),
  ...of(
    'gdscript',
    'addons/coinop/',
    ['a 500 is a final refusal of a coin operation', 'outbox.gd', '[400, 403, 409,', '[400, 403, 500, 409,'],
    ['an operation is sent before it is stored', 'outbox.gd', '\t_store.put(key, text)\n', ''],
    [
      'a repeated operation has a new key',
      'outbox.gd',
      '_once(OPERATIONS[kind], given, credential,',
      '_once(OPERATIONS[kind], given.merged({"key": Store.random_text()}, true), credential,',
    ],
    [
      'a message is sent again after a lost answer',
      'client.gd',
      'if route.begins_with("!") and (error.has("outcome")',
      'if route.begins_with("?") and (error.has("outcome")',
    ],
    ['retryAfterMs is not waited for', 'request.gd', 'minf(asked, 60_000) + randf()', 'minf(asked, 0) + randf()'],
    ['the answer of any server counts', 'request.gd', ' and body["ok"] == (status == 200):', ':'],
    ['an older room is shown', 'watch.gd', 'elif found > _position:', 'elif found != _position:'],
    ['a patch of another room is applied', 'patch.gd', ' or from != (room as Dictionary).get("seq")', ''],
    ['an act is sent again under a new order', 'act_queue.gd', '\t\tif not act.order:\n', '\t\tif true:\n'],
    ['a final close is opened again', 'watch.gd', 'code in [4500, 4501]', 'code == 4500'],
    ['the install of a moved account is used again', 'identity.gd', 'is_over: bool = is_deleted or ', 'is_over: bool = is_deleted and '],
    ['a newer save is lost to an older one', 'saves.gd', 'if latest.get("text") == kept["text"]:', 'if true:'],
    [
      'a clock that is set back reorders operations',
      'outbox.gd',
      'maxi(_last_stamp + 1, int(_client._clock.wall()))',
      'int(_client._clock.wall())',
    ],
    ['a call goes on after an abort', 'platform/transport.gd', 'await abort.result_of(exchange.done)', 'await exchange.done.result()'],
  ),
];
