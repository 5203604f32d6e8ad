using System;
using System.Collections.Generic;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>
    /// The unfinished coin operations and purchases. Each is stored before it is sent. They are sent one after the other, in the order of the
    /// calls, each under the same idempotency key until the service has answered.
    /// </summary>
    sealed class Outbox {
        /// <summary>
        /// The most milliseconds of a try for which the service asks the app store, which takes up to 17 s.
        /// </summary>
        const double PurchaseMs = 20000;
        const double LaterMs = 60000;

        /// <summary>The statuses of a final refusal: nothing was changed, and the same operation would be refused again.</summary>
        static readonly int[] Definite = { 400, 403, 409, 410, 413, 422 };
        static readonly string[] Operations = { "coins.credit", "coins.purchase", "coins.debit", "purchases.buy" };

        sealed class Own {
            internal Json Operation;
            internal string Owner;
            internal Promise<Json> Done;
        }

        readonly Client client;
        readonly string prefix;

        /// <summary>The operations that this client has made. It finishes them even if the store loses them.</summary>
        readonly Dictionary<string, Own> own = new Dictionary<string, Own>();
        readonly List<string> queue = new List<string>();
        readonly List<string> held = new List<string>();
        readonly HashSet<string> heldOwners = new HashSet<string>();
        bool hasAdopted;
        bool isRunning;
        bool isLate;
        int tries;
        long lastStamp;
        Json lastFailure;
        CancellationTokenSource waking = new CancellationTokenSource();

        internal Outbox(Client client) {
            this.client = client;
            prefix = client.Name + ":op:";
            client.Closed.Register(() => {
                foreach (var each in own.Values) each.Done.Settle(Requests.Failure("aborted").With("pending", true));
            });
        }

        /// <summary>The name of the call of an operation's type, or null.</summary>
        static string CallOf(string type) => Array.Find(Operations, name => name.EndsWith("." + type, StringComparison.Ordinal));

        internal static bool IsOperation(string name) => Requests.Has(Operations, name);

        /// <summary>Whether no operation waits, but for those that wait for a sign-in.</summary>
        internal bool IsEmpty => hasAdopted && queue.Count == 0;

        void Remove(string key) {
            own.Remove(key);
            client.Storage.Put(key);
        }

        /// <summary>Takes over the operations of the store that this client does not know, from an earlier start.</summary>
        void Adopt() {
            hasAdopted = true;
            foreach (var key in client.Storage.Keys(prefix)) {
                if (!queue.Contains(key) && !held.Contains(key) && !own.ContainsKey(key)) queue.Add(key);
                // New operations come after the stored ones, even if the clock was ahead when one of these was made.
                var stamp = Regex.Match(key.Substring(prefix.Length), "^([0-9]{15}).{24}$");
                if (stamp.Success) lastStamp = Math.Max(lastStamp, long.Parse(stamp.Groups[1].Value));
            }
            queue.Sort(string.CompareOrdinal);
        }

        Own Entry(string key) {
            if (own.TryGetValue(key, out var mine)) return mine;
            var text = client.Storage.Get(key);
            if (text == null) return null;
            var entry = Json.Read(text) ?? Json.Null;
            var isWhole = CallOf(entry[0]["type"].Text ?? "") != null && Regex.IsMatch(entry[1].Text ?? "", "^[ais][!-~]+\\z");
            if (isWhole) return new Own { Operation = entry[0], Owner = entry[1].Text };
            // The store was damaged, or another program wrote the entry.
            Remove(key);
            return null;
        }

        /// <summary>Sends one operation. Returns the failure after which it has to be sent again, or null.</summary>
        async Task<Json> Finish(string key) {
            var entry = Entry(key);
            if (entry == null) return null;
            var type = entry.Operation["type"].Text;
            var isPurchase = type == "buy";
            var credential = heldOwners.Contains(entry.Owner) ? null : client.Identity.CredentialOf(entry.Owner);
            var tryMs = isPurchase ? PurchaseMs : Requests.TryMs;
            var result = await client.Once(Calls.Routes[CallOf(type)], entry.Operation.Without("type"), credential, client.Closed, tryMs);
            var isOk = Requests.IsOk(result);
            // Another server has answered.
            if (isOk && !result.Has("balanceAfterCoins")) return Requests.Failure("not_coinop");
            var status = result["status"].Int;
            // `bad_token` is final too: the app store does not know the purchase, and another caller would not change that.
            if (isOk || Array.IndexOf(Definite, status) >= 0 || Requests.CodeOf(result) == "bad_token") Remove(key);
            else if (status == 401) {
                heldOwners.Add(entry.Owner);
                held.Add(key);
                result = result.With("pending", true);
            } else if (isPurchase && status != 0) {
                // The app store is down, or the catalogue lacks the product. Coin operations must not wait for that.
                own.Remove(key);
                result = result.With("pending", true);
                if (!isLate) client.Loop.Spawn(Later);
                isLate = true;
            } else return result;
            if (entry.Done != null) entry.Done.Settle(result);
            if (isPurchase) client.Tell(client.Options.OnPurchase, entry.Operation, new PurchaseProductReply(result));
            else client.Tell(client.Options.OnOperation, entry.Operation, new CoinOperationReply(result));
            return null;
        }

        async Task Later() {
            await client.Loop.Sleep(LaterMs, client.Closed);
            isLate = false;
            Wake();
        }

        /// <summary>Finishes the operations one after the other.</summary>
        async Task Work() {
            while (!client.Closed.IsCancellationRequested) {
                if (!hasAdopted) Adopt();
                if (queue.Count == 0) break;
                var key = queue[0];
                lastFailure = await Finish(key);
                if (lastFailure == null) {
                    queue.Remove(key);
                    tries = 0;
                } else {
                    waking = new CancellationTokenSource();
                    await client.Loop.Sleep(Requests.Backoff(tries++, lastFailure["error"], 15000), waking.Token, client.Closed);
                }
            }
            isRunning = false;
        }

        void Start() {
            if (isRunning || client.Closed.IsCancellationRequested) return;
            isRunning = true;
            client.Loop.Spawn(Work);
        }

        /// <summary>Tries again at once, and takes over what an earlier start has left.</summary>
        internal void Wake() {
            hasAdopted = false;
            waking.Cancel();
            Start();
        }

        /// <summary>Tries the operations again that waited for a sign-in.</summary>
        internal void Resume() {
            queue.AddRange(held);
            queue.Sort(string.CompareOrdinal);
            held.Clear();
            heldOwners.Clear();
            Wake();
        }

        internal void DiscardHeld() {
            foreach (var key in held) Remove(key);
            held.Clear();
        }

        /// <summary>Keeps an operation, and sends it. When the time is up it goes on, and the result has `pending`.</summary>
        internal async Task<Json> Operate(string name, Json given, double timeoutMs, CancellationToken stop) {
            if (Requests.IsAborted(stop, client.Closed)) return Requests.Failure("aborted");
            if (!hasAdopted) Adopt();
            // The time in the key rises even if the clock is set back, so that the keys keep the order of the operations.
            lastStamp = Math.Max(lastStamp + 1, (long)client.Loop.Clock.Wall());
            var type = name.Substring(name.IndexOf('.') + 1);
            // The app store's own id makes a purchase unique.
            if (type != "buy" && !given.Has("key")) given = given.With("key", Randoms.Text());
            var key = prefix + Math.Max(lastStamp, 0).ToString("D15") + Randoms.Text();
            var done = new Promise<Json>(client.Loop.Dispatcher);
            var entry = new Own { Operation = given.With("type", type), Owner = client.Identity.Owner(), Done = done };
            var text = Json.List(entry.Operation, entry.Owner).ToString();
            own[key] = entry;
            client.Storage.Put(key, text);
            queue.Add(key);
            Start();

            if (await client.Loop.IsDone(timeoutMs, done.Task, stop)) return await done.Task;
            var last = stop.IsCancellationRequested ? null : lastFailure;
            return (last ?? Requests.StoppedBy(stop)).With("pending", true);
        }
    }
}
