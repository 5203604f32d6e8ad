using System;
using System.Collections.Generic;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>What a client may be given. All of it is optional.</summary>
    public sealed class ClientOptions {
        /// <summary>Where the install, the session and unfinished operations are kept. Null is memory.</summary>
        public IStore Store;

        /// <summary>Of the keys in the store.</summary>
        public string Name = "coinop";

        /// <summary>An install of the game's own: printable ASCII without spaces.</summary>
        public string InstallId;

        /// <summary>Milliseconds of a call with its repetitions.</summary>
        public double TimeoutMs = 15000;

        /// <summary>Get `(operation, result)` of every coin operation and purchase, also of those that an earlier start began.</summary>
        public Action<Json, CoinOperationReply> OnOperation;
        public Action<Json, PurchaseProductReply> OnPurchase;

        /// <summary>Gets texts for the developer. Null: standard error.</summary>
        public Action<string> OnWarning;

        /// <summary>The name of this device, for a choice between two saves.</summary>
        public string Device;

        /// <summary>`(mine, theirs, of)` → the data to keep. `of` has the `game` and the `name` of the save. Null: mine.</summary>
        public Func<SaveResult, SaveResult, Json, Task<Json>> OnConflict;

        /// <summary>Gets `(of, result)` of every save, also of those that an earlier start made.</summary>
        public Action<Json, SaveResult> OnSaved;
        public ITransport Transport;
        public IClock Clock;

        /// <summary>The main thread. Null: that of `Dispatcher.Run`, else the one that makes the client, which then calls `Update`.</summary>
        public Dispatcher Dispatcher;

        /// <summary>Whether the platform has WebSockets.</summary>
        public bool Sockets = true;
    }

    /// <summary>The result of a quick match.</summary>
    public sealed class MatchResult : Reply {
        /// <summary>The room in which the player has a seat. Null if the match failed.</summary>
        public readonly PlayedRoom Room;

        internal MatchResult(Json json, PlayedRoom room) : base(json) {
            Room = room;
        }

        public bool Created => Json["created"].Bool;
    }

    /// <summary>
    /// The client of one service for one player. Calls give a result with `Ok` or an `Error`, and never throw for the network or the service.
    /// All callbacks run on the main thread. Close it at the end.
    /// </summary>
    public sealed class Client : Calls {
        /// <summary>
        /// For so long the service gives the same caller the same seat of a match. A later repetition could take a second seat.
        /// </summary>
        const double SameSeatMs = 10000;

        /// <summary>The most milliseconds of a try for which the service asks a provider of sign-ins, which takes up to 10 s.</summary>
        const double ProviderMs = 12000;
        const int MostListed = 50;
        static readonly string[] Acts = "leave ready state kick unready lock unlock rematch start settings data private transfer end".Split(' ');
        static readonly string[] ByInstall = { "accounts.resolve", "accounts.delete", "sessions.login" };

        /// <summary>A status is read by the secret of the pairing.</summary>
        static readonly string[] ByNobody = { "rooms.list", "pairing.open", "pairing.status" };
        static readonly string[] OfProvider = { "signIns.add", "store.provision" };

        /// <summary>Of these the service gives the session in the answer, and not in a cookie.</summary>
        static readonly string[] WithSession = { "sessions.login", "store.provision", "pairing.open" };
        static readonly string[] GivesSession = { "sessions.login", "store.provision", "pairing.status" };
        internal static readonly Json NeedsSignIn = Requests.Failure("sign_in_required").With("status", 401);

        internal readonly ClientOptions Options;
        internal readonly string Base;
        internal readonly string Name;
        internal readonly Loop Loop;
        internal readonly ITransport Transport;
        internal readonly SafeStore Storage;
        internal readonly Identity Identity;
        readonly Outbox outbox;
        readonly CancellationTokenSource closing = new CancellationTokenSource();
        readonly List<Watch> watches = new List<Watch>();
        readonly string tab = Randoms.Text(16);
        long order;

        /// <summary>The end of the act before, of the acts that are sent as single requests.</summary>
        Task acting = Task.FromResult(true);

        /// <summary>The saves of the player.</summary>
        public readonly Saves Saves;

        public Client(string url, ClientOptions options = null) {
            Options = options ?? new ClientOptions();
            Base = url.TrimEnd('/');
            if (!Regex.IsMatch(Base, "^https?://[^/?#@\\s]+\\z")) throw new ArgumentException("Bad url: " + Base);
            if (Options.InstallId != null && !Regex.IsMatch(Options.InstallId, "^[!-~]+\\z")) throw new ArgumentException("Bad InstallId");
            Name = Options.Name;
            Loop = new Loop(Options.Dispatcher ?? SynchronizationContext.Current as Dispatcher ?? new Dispatcher(), Options.Clock);
            Transport = Options.Transport ?? new NetTransport();
            Storage = new SafeStore(Options.Store, Warn);
            Identity = new Identity(this, Options.InstallId);
            outbox = new Outbox(this);
            Saves = new Saves(this);
            outbox.Wake();
        }

        internal CancellationToken Closed => closing.Token;

        internal void Warn(string message) => Tell(Options.OnWarning ?? Console.Error.WriteLine, message);

        /// <summary>Calls the game's own function. Its mistake must not stop the client.</summary>
        internal void Tell<T>(Action<T> function, T value) => Loop.Dispatcher.Guard(() => {
            if (function != null) function(value);
        });

        internal void Tell<T, U>(Action<T, U> function, T value, U second) => Loop.Dispatcher.Guard(() => {
            if (function != null) function(value, second);
        });

        internal Task<T> Start<T>(Func<Task<T>> work) => Loop.Dispatcher.Start(work);

        /// <summary>Does what there is to do now, on the main thread: call it once a frame, unless the game pumps the dispatcher.</summary>
        public void Update() => Loop.Dispatcher.Pump();

        /// <summary>The caller: `installId`, and of a session `sessionToken` and `accountId`. All but the last are secrets of the player.</summary>
        public Json Who() => new Json().WithOf(Identity.Load(), "installId", "sessionToken", "accountId");

        /// <summary>Tries everything again at once, because the device woke up or has a network again.</summary>
        public void Wake() {
            outbox.Wake();
            foreach (var watch in watches.ToArray()) watch.Wake();
        }

        /// <summary>Whether no coin operation waits to be sent, but for those that wait for a sign-in.</summary>
        public bool IsIdle => outbox.IsEmpty;

        /// <summary>Removes the operations that wait for a sign-in.</summary>
        public void DiscardHeld() => outbox.DiscardHeld();

        /// <summary>Ends all watches and calls. Unfinished operations stay in the store.</summary>
        public void Close() {
            foreach (var watch in watches.ToArray()) watch.Close();
            closing.Cancel();
        }

        // What a game follows.

        /// <summary>Calls back with the whole room, at once and after every change. `hello`: whether the player's seat counts as connected.</summary>
        public Watch WatchRoom(
            string code, Action<Room> onRoom, bool hello = true, Action<Seat> onYou = null, Action<ErrorDetails> onError = null, Action<WatchState> onState = null
        ) {
            return Follow(
                new WatchedRoom(
                    this, code, hello, room => Tell(onRoom, new Room(room)), you => Tell(onYou, new Seat(you)), error => Tell(onError, new ErrorDetails(error))
                ), onState
            );
        }

        /// <summary>Plays in a room in which the player has a seat.</summary>
        public PlayedRoom PlayRoom(string code) => new PlayedRoom(this, code);

        /// <summary>
        /// Takes a seat in the oldest open room of `game` with these `tags`, or in a new one. `wanted` may have the fields of a new room too: `name`,
        /// `maxPlayers`, `startWhenFull` …
        /// </summary>
        public Task<MatchResult> QuickMatch(Json wanted, CallOptions options = null) => Start(async () => {
            var limited = new CallOptions { TimeoutMs = Math.Min(options?.TimeoutMs ?? SameSeatMs, SameSeatMs), Stop = StopOf(options) };
            var reply = await Repeat(Routes["rooms.match"], wanted, limited);
            return new MatchResult(reply, Requests.IsOk(reply) ? PlayRoom(reply["room"]["code"].Text) : null);
        });

        /// <summary>Calls back with each status of a pairing of `Pairing.Open()`. With `claimed` the client has the session.</summary>
        public Watch WatchPairing(string token, string secret, Action<GetPairingReply> onStatus, Action<WatchState> onState = null) {
            return Follow(new WatchedPairing(this, token, secret, status => Tell(onStatus, new GetPairingReply(status))), onState);
        }

        /// <summary>Calls back with the player's balance and entitlement, at once and after every change, whoever made it.</summary>
        public Watch WatchAccount(Action<AccountNews> onAccount, Action<WatchState> onState = null) {
            return Follow(new WatchedAccount(this, news => Tell(onAccount, new AccountNews(news))), onState);
        }

        /// <summary>Calls back with the ten best scores of a game and its season, or null, at once and after changes.</summary>
        public Watch WatchBoard(string game, Action<IReadOnlyList<HighscoreEntry>, BoardSeason> onTop, Action<WatchState> onState = null) {
            Action<Json> show = shown => {
                var board = new GetHighscoresReply(shown);
                Tell(onTop, board.Top, shown["season"].IsNull ? null : board.Season);
            };
            var path = "/v1/highscores/" + Requests.Component(game) + "/live";
            return Follow(new WatchedList(this, path, "top", "highscores.top", new Json { { "game", game } }, show), onState);
        }

        /// <summary>Calls back with the newest 50 open rooms of a game with all of these tags, at once and after changes.</summary>
        public Watch WatchLobby(Action<IReadOnlyList<ListedRoom>> onRooms, string game = null, Json tags = null, Action<WatchState> onState = null) {
            Action<Json> show = shown => Tell(onRooms, new ListRoomsReply(shown).Rooms);
            var query = WithTags(new Json { { "game", game }, { "tags", tags } });
            var given = query.With("limit", MostListed);
            return Follow(new WatchedList(this, "/v1/lobby/live" + Requests.Query(query), "rooms", "rooms.list", given, show, MostListed), onState);
        }

        internal Watch Follow(Watched watched, Action<WatchState> onState) {
            if (!Loop.Dispatcher.IsHere) throw new InvalidOperationException("Watch and play on the thread that made the client.");
            var watch = new Watch(this, watched, onState);
            watches.Add(watch);
            return watch;
        }

        internal void Forget(Watch watch) => watches.Remove(watch);

        // How calls are made.

        /// <summary>
        /// Sends a request once. `{name}` in the path of the route is replaced by that field; the other fields are the query or the body. `by`: the
        /// credential of the caller. Null: only a sign-in can give one.
        /// </summary>
        internal async Task<Json> Once(string route, Json given, Json by, CancellationToken stop, double tryMs = Requests.TryMs) {
            if (by == null) return NeedsSignIn;
            var words = route.TrimStart('!').Split(' ');
            var path = words[1];
            var rest = new Json();
            foreach (var field in given) {
                var place = "{" + field.Key + "}";
                if (!path.Contains(place)) rest.Add(field.Key, field.Value);
                else if (field.Value.IsNull || field.Value.Text == "") {
                    // Else the request would go to another path.
                    var missing = Requests.Failure("invalid_request", field.Key + " is missing")["error"];
                    return Requests.Failure(missing.With("field", field.Key));
                } else path = path.Replace(place, Requests.Component(field.Value));
            }
            var isRead = words[0] == "GET";
            var url = Base + path + (isRead ? Requests.Query(rest) : "");
            var body = isRead ? null : rest.ToString();
            var headers = new Dictionary<string, string>();
            foreach (var header in by) headers[header.Key] = header.Value.Text;
            try {
                var answer = await Loop.Limited(tryMs, new[] { stop }, token => Transport.Request(words[0], url, headers, body, token));
                return answer == null ? Requests.StoppedBy(stop) : Requests.ReplyOf(answer);
            } catch (Exception error) {
                return Requests.Failure("network", error.Message);
            }
        }

        /// <summary>Repeats a request until it has an answer, the time is up, or something stops it.</summary>
        internal Task<Json> Repeat(string route, Json given, CallOptions options, Func<Json> by = null, double tryMs = Requests.TryMs) {
            var waitMs = 1000 * given["wait"].Double;
            var stops = new[] { StopOf(options), Closed };
            return Loop.Within(options?.TimeoutMs ?? Options.TimeoutMs + waitMs, stops, async whole => {
                Json last = null;
                for (var tries = 0; ; tries++) {
                    var result = await Once(route, given, by == null ? Identity.Credential() : by(), whole, tryMs + waitMs);
                    if (Requests.IsOk(result)) return result;
                    // When the time is up, the last failure from the service tells more than `timeout`.
                    if (whole.IsCancellationRequested) return last != null && !Requests.IsAborted(stops) ? last : Requests.StoppedBy(stops);
                    last = result;
                    var error = result["error"];
                    if (!Requests.IsTemporary(error) || (route[0] == '!' && Requests.IsUnclear(error))) return result;
                    await Loop.Sleep(Requests.Backoff(tries, error), whole);
                }
            });
        }

        static CancellationToken StopOf(CallOptions options) => options == null ? CancellationToken.None : options.Stop;

        internal override Task<T> Call<T>(string name, Json given, CallOptions options, Func<Json, T> reply) {
            return Start(async () => reply(await CallRaw(name, given, options)));
        }

        /// <summary>Makes the call of a name, such as `coins.credit`.</summary>
        internal async Task<Json> CallRaw(string name, Json given, CallOptions options) {
            var route = Routes[name];
            var ms = options?.TimeoutMs ?? Options.TimeoutMs;
            var isAct = name.StartsWith("rooms.", StringComparison.Ordinal) && Requests.Has(Acts, name.Substring(6));
            if (Outbox.IsOperation(name)) return await outbox.Operate(name, given, ms, StopOf(options));
            if (isAct) return await SendAct(route, given, ms, StopOf(options));
            var owner = name == "store.provision" ? Identity.Owner() : "";
            var secret = name == "pairing.status" ? given["secret"] : Json.Null;
            var asked = name == "pairing.status" ? given.Without("secret") : name == "rooms.list" ? WithTags(given) : given;
            if (Requests.Has(WithSession, name)) asked = asked.With("session", "token");
            var tries = 0;
            Func<Json> by = () => {
                tries++;
                if (!secret.IsNull) return new Json { { "x-pair-secret", secret } };
                return Requests.Has(ByNobody, name) ? new Json() : Requests.Has(ByInstall, name) ? Identity.Install() : Identity.Credential();
            };
            var reply = await Repeat(route, asked, options, by, Requests.Has(OfProvider, name) ? ProviderMs : Requests.TryMs);
            await FollowCaller(name, given, reply, owner, tries > 1);
            return reply;
        }

        /// <summary>Does what an answer means for the caller. `owner`: who provided the sign-in of a store.</summary>
        async Task FollowCaller(string name, Json given, Json reply, string owner, bool isRepeated) {
            var isOk = Requests.IsOk(reply);
            var code = Requests.CodeOf(reply);
            var isOver = false;
            if (name == "rooms.join") {
                // The player of a new seat is shown as connected only after a hello on the channel.
                Greet();
            } else if (Requests.Has(GivesSession, name) && reply.Has("sessionToken")) {
                // If the answer was lost, the guest may already have moved. The repetition then answers with neither `moved` nor `notMoved`.
                var movedUnseen = isRepeated && !reply.Has("notMoved") && owner != "a" + reply["accountId"].Text;
                var isMoved = name == "store.provision" && (reply["moved"].Bool || movedUnseen);
                await Identity.SignedIn(reply, name == "sessions.login", isMoved ? owner : null);
                Resume();
            } else if (name == "sessions.logout" || name == "accounts.delete") {
                // The first of the two answers to a deletion has a `confirm`, and ends nothing.
                isOver = isOk ? !reply.Has("confirm") : code == "account_deleted";
            } else if (name == "sessions.end" || name == "signIns.remove") {
                // A removed sign-in ends its sessions, the caller's own among them if it began with it. If a session ends itself and the answer
                // is lost, the repetition is refused with `session_required`.
                isOver = isOk ? reply["current"].Bool : isRepeated && code == "session_required";
            }
            if (!isOver) return;
            Identity.SignedOut(name == "accounts.delete" && given["token"].IsNull);
            Resume();
        }

        /// <summary>Acts are sent one after the other, each under its order: the service takes one that a later one has overtaken for a repetition.</summary>
        async Task<Json> SendAct(string route, Json given, double timeoutMs, CancellationToken stop) {
            var numbered = given.With("order", ++order).With("tab", tab);
            var until = Loop.Now + timeoutMs;
            var before = acting;
            var done = new Promise<bool>(Loop.Dispatcher);
            acting = Task.WhenAll(before, done.Task);
            var isTurn = await Loop.IsDone(until - Loop.Now, before, stop, Closed);
            try {
                if (!isTurn) return Requests.StoppedBy(stop, Closed);
                return await Repeat(route, numbered, new CallOptions { TimeoutMs = until - Loop.Now, Stop = stop });
            } finally {
                done.Settle(true);
            }
        }

        void Greet() {
            foreach (var watch in watches.ToArray()) watch.Greet();
        }

        /// <summary>Continues operations and watches as the new caller.</summary>
        void Resume() {
            outbox.Resume();
            Greet();
        }

        /// <summary>The query parameters of a list of rooms: one for each tag.</summary>
        static Json WithTags(Json given) {
            var query = new Json();
            foreach (var field in given.Without("tags"))
                if (!field.Value.IsNull) query.Add(field.Key, field.Value);
            foreach (var tag in given["tags"]) query.Add("tag." + tag.Key, tag.Value);
            return query;
        }
    }
}
