using System;
using System.Collections.Generic;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>The result of `Save` and `Load`. Continue with its `Data`: after a conflict it is the merge.</summary>
    public sealed class SaveResult : Reply {
        public SaveResult(Json json) : base(json) { }

        public Json Data => Json["data"];
        public long Version => Json["version"].Long;
        public string UpdatedAt => Json["updatedAt"].Text;
    }

    /// <summary>
    /// The saves of a player: what a game keeps under a name. Nothing is lost on the way, and of each name only the newest is sent.
    /// </summary>
    public sealed class Saves : SavesCalls {
        const double CallMs = 15000;
        const double MostRetryMs = 60000;

        /// <summary>The most texts of unknown outcome that are remembered.</summary>
        const int MostSent = 16;

        readonly Client client;
        readonly string prefix;

        /// <summary>The last result of each save, for calls whose data a newer call has replaced.</summary>
        readonly Dictionary<string, Json> results = new Dictionary<string, Json>();

        /// <summary>
        /// The version of each save that this start has got or made. A new save is based on it. So a later version, such as a merge in the
        /// background, is in conflict with what the game makes without it.
        /// </summary>
        readonly Dictionary<string, long> known = new Dictionary<string, long>();
        readonly Dictionary<string, Task> turns = new Dictionary<string, Task>();
        bool isWaiting;
        int tries;

        internal Saves(Client client) : base(client) {
            this.client = client;
            prefix = client.Name + ":save:";
            Wake();
        }

        /// <summary>Sends all saves that wait.</summary>
        public void Wake() => client.Loop.Spawn(FlushAll);

        /// <summary>Keeps data as the newest save of the name, and sends it, later if the service does not answer (`Pending`).</summary>
        public Task<SaveResult> Save(string game, string name, Json data) {
            return client.Start(async () => new SaveResult(await SaveRaw(game, name, data)));
        }

        /// <summary>Reads a save. One that waits to be sent is sent first, and given (`Pending`) while the service does not answer.</summary>
        public Task<SaveResult> Load(string game, string name, CallOptions options = null) {
            return client.Start(async () => new SaveResult(await LoadRaw(game, name, options)));
        }

        async Task<Json> SaveRaw(string game, string name, Json data) {
            var owner = client.Identity.Owner();
            var key = KeyOf(owner, game, name);
            var isKnown = known.ContainsKey(key);
            if (!isKnown) known[key] = 0;
            // What an earlier start has sent is not part of a save that this one makes without a load.
            var sent = isKnown ? Kept(key)["sent"] : Json.Null;
            var kept = new Json { { "owner", owner }, { "game", game }, { "name", name }, { "version", known[key] }, { "sent", sent } };
            Put(key, kept.With("text", data.ToString()));

            var turn = Flush(key);
            var isDone = await client.Loop.IsDone(CallMs, turn);
            var now = Kept(key);
            var result = isDone ? await turn : Requests.Failure("timeout").With("pending", true);
            if (result == null) {
                return new Json { { "ok", true }, { "version", now["version"].Long }, { "updatedAt", now["updatedAt"].Text ?? "" }, { "data", data } };
            }
            if (Requests.IsOk(result)) Has(key, result["version"].Long);
            return result.Has("pending") && now.Has("text") ? result.With("data", Give(key, now)) : result;
        }

        async Task<Json> LoadRaw(string game, string name, CallOptions options) {
            var owner = client.Identity.Owner();
            var key = KeyOf(owner, game, name);
            var before = KnownOf(key);
            if (Kept(key).Has("text")) await Flush(key);
            var kept = Kept(key);
            var of = new Json { { "game", game }, { "name", name } };
            var reply = await client.Repeat(Calls.Routes["saves.load"], of, options);
            var isOk = Requests.IsOk(reply);
            var isNone = !isOk && Requests.CodeOf(reply) == "save_not_found";
            var isKept = kept.Has("text") && (isOk || isNone || Requests.IsTemporary(reply["error"]));
            // The game may have made a save meanwhile, which is newer than what was loaded.
            if ((isKept || isOk || isNone) && KnownOf(key) == before) known[key] = isKept ? kept["version"].Long : isOk ? reply["version"].Long : 0;
            if (isKept) return Waiting(name, kept["version"], Give(key, kept));
            if (!isOk || !reply.Has("other")) return reply;
            var found = await client.Repeat(Calls.Routes["saves.load"], of.With("version", reply["other"]["version"]), options);
            if (!Requests.IsOk(found)) return reply;
            var text = (await Merged(Saved(reply), Saved(found), of)).ToString();
            var merge = of.With("owner", owner).With("version", reply["version"]).With("sent", Json.List()).With("text", text).With("isMerge", true);
            if (!Kept(key).Has("text")) Put(key, merge);
            var settled = await Flush(key);
            if (settled != null && Requests.IsOk(settled)) Has(key, settled["version"].Long);
            if (settled != null && !settled.Has("pending")) return settled.With("name", name);
            return Waiting(name, reply["version"], Give(key, merge));
        }

        static Json Waiting(string name, Json version, Json data) {
            return new Json { { "ok", true }, { "name", name }, { "version", version }, { "data", data }, { "pending", true } };
        }

        string KeyOf(string owner, string game, string name) => prefix + Mark(owner) + ":" + game + "/" + name;

        long? KnownOf(string key) => known.ContainsKey(key) ? known[key] : (long?)null;

        /// <summary>
        /// What the store keeps of a save: `text` is what waits to be sent, `sent` marks texts whose outcome is not known, without merges, and
        /// `isMerge` says that the game does not have the text yet.
        /// </summary>
        Json Kept(string key) => client.Storage.Load(key).Without();

        void Put(string key, Json kept) => client.Storage.Put(key, kept.ToString());

        /// <summary>Notes a version that the game has.</summary>
        void Has(string key, long version) {
            if (known.ContainsKey(key)) known[key] = Math.Max(version, known[key]);
        }

        /// <summary>Gives the game what waits.</summary>
        Json Give(string key, Json kept) {
            Has(key, kept["version"].Long);
            var now = Kept(key);
            if (now.Has("text") && now["text"].Text == kept["text"].Text) Put(key, now.With("isMerge", false));
            return Json.Parse(kept["text"].Text);
        }

        async Task<Json> Merged(Json mine, Json theirs, Json of) {
            if (client.Options.OnConflict == null) return mine["data"];
            return await client.Options.OnConflict(new SaveResult(mine), new SaveResult(theirs), of);
        }

        /// <summary>Notes the outcome and what there is to send, unless the game has made a newer save. Returns whether nothing waits.</summary>
        bool Settle(string key, Json kept, string text, Json result, Json outcome) {
            var latest = Kept(key);
            if (latest.Count == 0) latest = kept;
            if (latest["text"].Text == text) {
                latest = latest.Without("text").WithOf(outcome, "version", "updatedAt", "text", "isMerge").With("sent", Json.List());
            } else if (Requests.IsOk(result) && !kept["isMerge"].Bool) latest = latest.With("version", result["version"]).With("sent", Json.List());
            Put(key, latest);
            return !latest.Has("text");
        }

        /// <summary>Sends what is kept under the key once. Null: something newer is kept.</summary>
        async Task<Json> SendOnce(string key, Json kept, Json credential) {
            var of = new Json().WithOf(kept, "game", "name");
            var text = kept["text"].Text;
            var isMerge = kept["isMerge"].Bool;
            if (!isMerge) {
                var marks = new List<Json>(kept["sent"].Items);
                marks.RemoveAll(other => other.Text == Mark(text));
                marks.Add(Mark(text));
                if (marks.Count > MostSent) marks.RemoveRange(0, marks.Count - MostSent);
                Put(key, kept.With("sent", Json.ListOf(marks)));
                kept = Kept(key);
            }
            var data = Json.Parse(text);
            var given = of.With("data", data).With("ifVersion", kept["version"]);
            if (client.Options.Device != null) given.Add("device", client.Options.Device);
            var result = await client.Once(Calls.Routes["saves.save"], given, credential, client.Closed);
            // The next start of the game sends it again: its client may have begun already.
            if (client.Closed.IsCancellationRequested) return Requests.Failure("aborted");
            if (Requests.IsOk(result)) {
                if (!isMerge) Has(key, result["version"].Long);
                return Settle(key, kept, text, result, result) ? result.With("data", data) : null;
            }
            var error = result["error"];
            if (error["code"].Text == "stale_save") {
                // An earlier save of this device stands, whose answer was lost. Or the save was deleted elsewhere: then this one begins anew.
                var mark = Mark(error["data"].ToString());
                var isOwn = error["version"].Long == 0;
                foreach (var other in kept["sent"].Items) isOwn = isOwn || other.Text == mark;
                // A newer save meets the conflict itself.
                if (Kept(key)["text"].Text != text) return null;
                var left = isOwn ? text : (await Merged(new Json { { "data", data } }, Saved(error), of)).ToString();
                var outcome = new Json { { "version", error["version"] }, { "text", left }, { "isMerge", isMerge || left != text } };
                Settle(key, kept, text, result, outcome);
                return null;
            }
            return MayPass(result) || Settle(key, kept, text, result, new Json()) ? result : null;
        }

        /// <summary>Sends the save, and any newer one that is made meanwhile, until the service has the newest or does not answer.</summary>
        async Task<Json> Send(string key) {
            while (true) {
                var kept = Kept(key);
                if (!kept.Has("text")) return results.ContainsKey(key) ? results[key] : null;
                if (client.Closed.IsCancellationRequested) return Requests.Failure("aborted").With("pending", true);
                var credential = client.Identity.CredentialOf(kept["owner"].Text);
                var result = Client.NeedsSignIn;
                if (credential != null) result = await SendOnce(key, kept, credential);
                if (result == null) continue;
                var isOk = Requests.IsOk(result);
                var waits = !isOk && MayPass(result);
                if (waits) {
                    result = result.With("pending", true).With("data", Json.Parse(kept["text"].Text));
                    var error = result["error"];
                    client.Loop.Spawn(() => Retry(error));
                } else tries = 0;
                results[key] = result;
                if (client.Options.OnSaved != null && waits) Give(key, kept);
                if (client.Options.OnSaved != null && isOk) Has(key, result["version"].Long);
                client.Tell(client.Options.OnSaved, new Json().WithOf(kept, "game", "name"), new SaveResult(result));
                return result;
            }
        }

        /// <summary>Sends after all earlier ones of the key. Throws what the game throws in `OnConflict`.</summary>
        Task<Json> Flush(string key) {
            turns.TryGetValue(key, out var before);
            var turn = Turn(before, key);
            turns[key] = turn;
            return turn;
        }

        async Task<Json> Turn(Task before, string key) {
            await Task.Yield();
            if (before != null) await Task.WhenAny(before);
            return await Send(key);
        }

        async Task FlushAll() {
            foreach (var key in client.Storage.Keys(prefix)) {
                var turn = Flush(key);
                await Task.WhenAny(turn);
                client.Loop.Dispatcher.Report(turn.Exception);
            }
        }

        /// <summary>Sends all saves again after a while.</summary>
        async Task Retry(Json error) {
            if (isWaiting) return;
            isWaiting = true;
            await client.Loop.Sleep(Requests.Backoff(tries++, error, MostRetryMs), client.Closed);
            isWaiting = false;
            if (!client.Closed.IsCancellationRequested) await FlushAll();
        }

        static Json Saved(Json reply) => reply.Without("ok", "other", "requestId");

        /// <summary>Whether the same save may pass later: no answer, a service that is away, or a player who has to sign in.</summary>
        static bool MayPass(Json result) {
            var status = result["status"].Int;
            return status == 0 || status == 401 || Requests.IsTemporary(result["error"]);
        }

        /// <summary>Tells texts apart, and tells nobody an installId.</summary>
        static string Mark(string text) {
            using (var sha = SHA256.Create()) {
                return BitConverter.ToString(sha.ComputeHash(Encoding.UTF8.GetBytes(text))).Replace("-", "").Substring(0, 20);
            }
        }
    }
}
