using System;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>What a watch does now. `Status`: `connecting`, `live`, `waiting` or `ended`.</summary>
    public sealed class WatchState : View {
        internal WatchState(Json json) : base(json) { }

        public string Status => Json["status"].Text;

        /// <summary>Of `live`: `socket` or `poll`.</summary>
        public string By => Json["by"].Text;

        /// <summary>Of `ended`: the code with which it ended.</summary>
        public string Code => Json["code"].Text;
    }

    /// <summary>What is watched, how its states are read, and where they go.</summary>
    abstract class Watched {
        protected readonly Client Client;
        internal readonly string Path;

        protected Watched(Client client, string path) {
            Client = client;
            Path = path;
        }

        internal virtual bool Patches => false;

        /// <summary>The hello of the present caller.</summary>
        internal Json Caller() {
            var credential = Client.Identity.Credential();
            var token = credential["authorization"].Text;
            var hello = new Json { { "type", "hello" } };
            return token == null ? hello.With("installId", credential["x-install-id"]) : hello.With("sessionToken", token.Substring("Bearer ".Length));
        }

        /// <summary>Reads the present state or, given seconds to wait, the first state after the position.</summary>
        internal abstract Task<Json> Poll(int wait, long position, CancellationToken stop);

        /// <summary>The position of the state in a message. Null: it has no state.</summary>
        internal abstract long? PositionOf(Json message);

        /// <summary>Passes on a state. Returns whether it is the last one.</summary>
        internal abstract Task<bool> Deliver(Json message);

        /// <summary>Passes on a message that has no state.</summary>
        internal virtual void Other(Json message) { }

        /// <summary>The message to send on a new connection, or null.</summary>
        internal virtual Json Hello() => null;

        /// <summary>Called when a connection is open.</summary>
        internal virtual void Opened(Action<Json> send, Action close) { }

        /// <summary>Whether the watch goes on after a final close, because another caller has signed in.</summary>
        internal virtual Task<bool> GoesOn() => Task.FromResult(false);
    }

    /// <summary>Follows a room, a pairing, the account, a board or a list, over one connection at a time, until it ends.</summary>
    public sealed class Watch {
        const double OpenMs = 4000;
        const int PollSeconds = 20;

        /// <summary>After so many long-polls the client tries a WebSocket again. The number doubles each time.</summary>
        const int Polls = 6;
        const double SteadyMs = 30000;
        const int FastTries = 8;

        readonly Client client;
        internal readonly Watched Watched;
        readonly Action<WatchState> onState;
        readonly CancellationTokenSource closing = new CancellationTokenSource();
        readonly Promise<string> ended;
        CancellationTokenSource waking;
        Link link;
        internal long Position;
        internal bool IsFinal;

        /// <summary>Whether the next connection asks for whole rooms, because a patch did not fit.</summary>
        internal bool Whole;

        /// <summary>The code of the last error of the channel.</summary>
        internal string Problem;

        /// <summary>What the watch does now.</summary>
        public WatchState State { get; private set; }

        /// <summary>Gives the code with which the watch ended.</summary>
        public Task<string> Ended => ended.Task;

        internal Watch(Client client, Watched watched, Action<WatchState> onState) {
            this.client = client;
            Watched = watched;
            this.onState = onState;
            ended = new Promise<string>(client.Loop.Dispatcher);
            State = new WatchState(new Json { { "status", "connecting" } });
            client.Loop.Spawn(async () => {
                var code = await Run();
                if (code != null) Finish(code);
            });
        }

        void Set(Json state) {
            if (closing.IsCancellationRequested) return;
            State = new WatchState(state);
            client.Tell(onState, State);
        }

        internal void Live(string by) {
            if (State.Status != "live") Set(new Json { { "status", "live" }, { "by", by } });
        }

        void Finish(string code) {
            Set(new Json { { "status", "ended" }, { "code", code } });
            closing.Cancel();
            ended.Settle(code);
            client.Forget(this);
        }

        /// <summary>Ends the watch.</summary>
        public void Close() {
            if (!ended.IsSettled) Finish("closed");
        }

        /// <summary>Checks the connection, or connects at once.</summary>
        public void Wake() {
            if (waking != null) waking.Cancel();
            if (link != null) link.Check();
        }

        /// <summary>Sends `hello` again on the open connection.</summary>
        internal void Greet() {
            if (link != null) link.Greet();
        }

        /// <summary>Passes a state on if it is newer than the last one. Returns its position, or 0.</summary>
        internal async Task<long> Take(Json message) {
            var found = Watched.PositionOf(message);
            if (closing.IsCancellationRequested) return 0;
            if (found == null) Watched.Other(message);
            else if (found.Value > Position) {
                Position = found.Value;
                if (await Watched.Deliver(message)) IsFinal = true;
            }
            return found ?? 0;
        }

        /// <summary>Reads the state from the service, and passes it on.</summary>
        internal async Task<Json> Poll(int wait) {
            var known = Position;
            var reply = await Watched.Poll(wait, known, closing.Token);
            if (!Requests.IsOk(reply)) return reply;
            // It is older than the last one, although it was read later: the service has lost changes.
            if (Position == known && Watched.PositionOf(reply) < known) Position = 0;
            await Take(reply);
            return reply;
        }

        /// <summary>Follows until the end. Returns the code, or null if the watch was closed.</summary>
        async Task<string> Run() {
            var polls = Polls;
            var tries = -1;
            var wasRefused = false;
            while (!closing.IsCancellationRequested) {
                tries++;
                Set(new Json { { "status", "connecting" } });
                var outcome = await OverSocket();
                var code = outcome.Code;
                if (closing.IsCancellationRequested) break;
                if (code > 4501 && code < 5000) {
                    if (await Watched.GoesOn()) continue;
                    return Problem ?? "finished";
                }
                if (IsFinal || code == 4500 || code == 4501) return code == 4500 ? "gone" : "finished";
                if (outcome.OpenMs > SteadyMs) tries = 0;
                Json problem = null;
                if (outcome.OpenMs >= 0) wasRefused = false;
                else {
                    // A WebSocket does not tell why it could not open. A read tells it, or shows that the network blocks only WebSockets. The
                    // service may have come back between the two, so a second try tells.
                    var isFirst = client.Options.Sockets && !wasRefused;
                    problem = await OverPolls(isFirst ? 1 : polls);
                    wasRefused = isFirst && problem == null;
                    if (closing.IsCancellationRequested) break;
                    if (IsFinal) return "finished";
                    if (problem != null && problem.Has("status") && !Requests.IsTemporary(problem["error"])) return Requests.CodeOf(problem);
                    if (problem == null) {
                        if (!wasRefused) polls *= 2;
                        continue;
                    }
                }
                await Wait(tries, problem);
            }
            return null;
        }

        async Task Wait(int tries, Json problem) {
            var error = problem == null ? Json.Null : problem["error"];
            // Back within a second after a short outage, within 3.5 s after any, and not all at once.
            var most = tries < FastTries ? Math.Min(1000, 250 * Math.Pow(2, tries)) : 3500;
            var wait = Math.Min(error["retryAfterMs"].Double, 60000) + most * (1 + Randoms.Share()) / 2;
            waking = new CancellationTokenSource();
            var state = new Json { { "status", "waiting" }, { "ms", wait } };
            Set(problem == null ? state : state.With("error", error));
            await client.Loop.Sleep(wait, waking.Token, closing.Token);
            waking = null;
        }

        /// <summary>Long-polls so many times. Returns the failure that stopped it, or null.</summary>
        async Task<Json> OverPolls(int times) {
            for (var turn = 0; turn < times && !closing.IsCancellationRequested && !IsFinal; turn++) {
                // The first poll does not wait for news, so it is answered at once.
                var reply = await Poll(turn > 0 ? PollSeconds : 0);
                if (!Requests.IsOk(reply)) return reply;
                // A single read tells only why there is no WebSocket.
                if (times > 1) Live("poll");
            }
            return null;
        }

        async Task<ISocket> Connect(string url, CancellationToken stop) {
            var socket = await client.Transport.Connect(url, stop);
            // It opened while it was given up.
            if (stop.IsCancellationRequested) socket.Close();
            return socket;
        }

        /// <summary>How a connection ended: its close code, and for how long it was open. Below 0: it never opened.</summary>
        internal struct Outcome {
            internal int Code;
            internal double OpenMs;
        }

        static readonly Outcome Unopened = new Outcome { OpenMs = -1 };

        /// <summary>Watches over one WebSocket until it closes.</summary>
        async Task<Outcome> OverSocket() {
            var url = "ws" + client.Base.Substring("http".Length) + Watched.Path + (Watched.Patches && !Whole ? "?patch=1" : "");
            if (!client.Options.Sockets) return Unopened;
            ISocket socket = null;
            try {
                socket = await client.Loop.Limited(OpenMs, new[] { closing.Token }, stop => Connect(url, stop));
            } catch (Exception) {
                // Why is not told.
            }
            if (socket == null) return Unopened;
            link = new Link(this, client.Loop, socket);
            try {
                using (closing.Token.Register(link.Stop)) return await link.Run();
            } finally {
                link = null;
            }
        }
    }

    /// <summary>One open connection of a watch.</summary>
    sealed class Link {
        /// <summary>How often an idle connection is checked. One whose network has failed is silent, like one without news.</summary>
        const double CheckMs = 30000;
        const double QuietMs = 10000;
        const double PongMs = 4000;

        /// <summary>Of so many checks one is a read, which also shows whether the service is behind.</summary>
        const int Reads = 4;
        const double BehindMs = 2000;

        readonly Watch watch;
        readonly Loop loop;
        readonly ISocket socket;
        readonly double openedAt;
        bool isOver;

        /// <summary>The position of the newest state that this connection brought.</summary>
        long brought;

        /// <summary>The last room of this connection: the next patch applies to it, even if a read has found a newer one.</summary>
        Json room = Json.Null;
        IDisposable timer;
        bool pings;
        int checks;

        internal Link(Watch watch, Loop loop, ISocket socket) {
            this.watch = watch;
            this.loop = loop;
            this.socket = socket;
            openedAt = loop.Now;
        }

        void After(double ms, Action run) {
            timer?.Dispose();
            timer = isOver ? null : loop.Clock.Later(ms, run);
        }

        void Send(Json message) => socket.Send(message.ToString());

        /// <summary>Ends the connection. Another one follows, unless the watch is over.</summary>
        internal void Stop() {
            isOver = true;
            socket.Close();
            timer?.Dispose();
        }

        internal async Task<Watch.Outcome> Run() {
            watch.Watched.Opened(Send, Stop);
            Idle();
            Greet();
            var code = 0;
            while (!isOver) {
                var text = await socket.Receive();
                if (text == null) {
                    code = isOver ? 0 : socket.CloseCode;
                    break;
                }
                if (isOver) break;
                try {
                    await Receive(Json.Parse(text));
                } catch (Exception) {
                    // A message that does not fit ends this connection.
                    break;
                }
            }
            var openMs = loop.Now - openedAt;
            Stop();
            return new Watch.Outcome { Code = code, OpenMs = openMs };
        }

        internal void Greet() {
            var hello = watch.Watched.Hello();
            if (hello != null && !isOver) Send(hello);
        }

        void Idle() => After(pings ? QuietMs : CheckMs * (1 + Randoms.Share() / 2), Probe);

        void Probe() {
            checks++;
            if (pings && checks % Reads != 0) Check();
            else loop.Spawn(Read);
        }

        internal void Check() {
            if (isOver) return;
            if (!pings) {
                loop.Spawn(Read);
                return;
            }
            Send(new Json { { "type", "ping" }, { "t", loop.Now } });
            After(PongMs, Stop);
        }

        async Task Read() {
            Idle();
            var reply = await watch.Poll(0);
            if (isOver) return;
            // The service did not answer, or refused. A new connection follows, and ends the watch if the room no longer exists.
            if (!Requests.IsOk(reply) && reply["status"].Int < 429) Stop();
            else if (watch.Position > brought) After(BehindMs, Stop);
        }

        /// <summary>Takes a message. Throws for one that does not fit.</summary>
        async Task Receive(Json message) {
            if (message.Kind != JsonKind.Object) throw new FormatException("No message");
            var type = message["type"].Text;
            if (type == "welcome" && message.Has("now")) pings = true;
            // If a patch does not fit, this is still set: the next connection asks for whole rooms.
            watch.Whole = true;
            if (message.Has("ops")) message = new Json { { "room", Patch.Patched(room, message["from"], message["ops"]) } };
            watch.Whole = false;
            if (message.Has("room")) room = message["room"];
            var known = watch.Position;
            Idle();
            watch.Live("socket");
            // The error of an `acted` is not the channel's.
            var error = type == "error" && message.Has("error") ? message["error"] : null;
            if (error != null) {
                watch.Problem = error["code"].Text;
                // The service could not process the hello at the moment, so it is sent again.
                if (Requests.IsTemporary(error)) loop.Clock.Later(Requests.Backoff(2, error), Greet);
            }
            var found = await watch.Take(message);
            // A new connection brought an older state than the known one: the service has lost changes, or this process of it is behind.
            if (found > 0 && brought == 0 && found < known) After(BehindMs, () => loop.Spawn(Read));
            brought = Math.Max(brought, found);
            if (watch.IsFinal) Stop();
        }
    }
}
