// The driver of the C# client. ../README.md says what each command means.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Coinop;

sealed class VirtualClock : IClock {
    sealed class Timer : IDisposable {
        internal double Due;
        internal Action Run;
        internal List<Timer> Of;

        public void Dispose() => Of.Remove(this);
    }

    readonly List<Timer> timers = new List<Timer>();
    double time;
    internal double Offset;

    internal VirtualClock(double now, double wall) {
        time = now;
        Offset = wall - now;
    }

    public double Now() => time;

    public double Wall() => Offset + time;

    public IDisposable Later(double ms, Action run) {
        var timer = new Timer { Due = time + Math.Max(0, ms), Run = run, Of = timers };
        timers.Add(timer);
        return timer;
    }

    internal void Advance(double to) {
        time = to;
        foreach (var timer in timers.ToArray()) {
            if (timer.Due > to || !timers.Remove(timer)) continue;
            timer.Run();
        }
    }

    internal Json Due() {
        var due = double.PositiveInfinity;
        foreach (var timer in timers) due = Math.Min(due, timer.Due);
        return double.IsInfinity(due) ? Json.Null : due;
    }
}

sealed class MemoryStore : IStore {
    internal Json Contents;
    internal string Storage;

    void Use(params string[] refusedBy) {
        if (Array.IndexOf(refusedBy, Storage) >= 0) throw new IOException(Storage);
    }

    public string Get(string key) {
        Use("forbidden");
        return Contents[key].Text;
    }

    public void Set(string key, string value) {
        Use("forbidden", "full");
        Contents = Contents.With(key, value);
        Driver.Write(new Json { { "stored", Json.List(key, value) } });
    }

    public void Remove(string key) {
        Use("forbidden");
        Contents = Contents.Without(key);
        Driver.Write(new Json { { "stored", Json.List(key, Json.Null) } });
    }

    public ICollection<string> Keys() {
        Use("forbidden");
        var keys = new List<string>();
        foreach (var member in Contents) keys.Add(member.Key);
        return keys;
    }
}

sealed class Counted : ITransport {
    internal readonly Dictionary<string, int> Counts = new Dictionary<string, int>();
#if UNITY_STAND_INS
    readonly ITransport transport = new Coinop.Unity.UnityTransport((Dispatcher)SynchronizationContext.Current);
#else
    readonly ITransport transport = new NetTransport();
#endif

    internal Counted() {
        foreach (var name in new[] { "requests", "ended", "sockets", "socketsEnded", "socketsOpen", "framesToClient", "framesFromClient" }) Counts[name] = 0;
    }

    public async Task<Answer> Request(string method, string url, IDictionary<string, string> headers, string body, CancellationToken stop) {
        Counts["requests"]++;
        try {
            return await transport.Request(method, url, headers, body, stop);
        } finally {
            Counts["ended"]++;
        }
    }

    public async Task<ISocket> Connect(string url, CancellationToken stop) {
        Counts["sockets"]++;
        try {
            return new Socket(Counts, await transport.Connect(url, stop));
        } catch (Exception) {
            Counts["socketsEnded"]++;
            throw;
        }
    }

    sealed class Socket : ISocket {
        readonly Dictionary<string, int> counts;
        readonly ISocket socket;
        bool isLive = true;
        int toClient;
        int fromClient;

        internal Socket(Dictionary<string, int> counts, ISocket socket) {
            this.counts = counts;
            this.socket = socket;
            counts["socketsOpen"]++;
        }

        void End() {
            if (!isLive) return;
            isLive = false;
            counts["socketsEnded"]++;
            counts["socketsOpen"]--;
            counts["framesToClient"] -= toClient;
            counts["framesFromClient"] -= fromClient;
        }

        public int CloseCode => socket.CloseCode;

        public void Send(string text) {
            if (isLive) {
                fromClient++;
                counts["framesFromClient"]++;
            }
            socket.Send(text);
        }

        public async Task<string> Receive() {
            var text = await socket.Receive();
            if (text == null) End();
            else if (isLive) {
                toClient++;
                counts["framesToClient"]++;
            }
            return text;
        }

        public void Close() {
            End();
            socket.Close();
        }
    }
}

sealed class Driver {
    static readonly Stream Output = Console.OpenStandardOutput();
    readonly Dictionary<string, PlayedRoom> rooms = new Dictionary<string, PlayedRoom>();
    readonly Dictionary<string, Watch> watches = new Dictionary<string, Watch>();
    readonly Dictionary<string, CancellationTokenSource> stops = new Dictionary<string, CancellationTokenSource>();
    Client client;
    VirtualClock clock;
    MemoryStore store;
    Counted transport;

    internal static void Write(Json line) {
        var bytes = Encoding.UTF8.GetBytes(line + "\n");
        Output.Write(bytes, 0, bytes.Length);
        Output.Flush();
    }

    static void Tell(string name, string of, params Json[] values) {
        var line = new Json { { "event", name }, { "value", values.Length > 1 ? Json.ListOf(values) : values[0] } };
        Write(of == null ? line : line.With("of", of));
    }

    static Json ListOf<T>(IEnumerable<T> views) where T : View {
        var list = new List<Json>();
        foreach (var view in views) list.Add(view.Json);
        return Json.ListOf(list);
    }

    static string Pascal(string name) => char.ToUpperInvariant(name[0]) + name.Substring(1);

    void Start(Json command) {
        var given = command["options"];
        rooms.Clear();
        watches.Clear();
        clock = new VirtualClock(command["now"].Double, command["wallMs"].Double);
        store = new MemoryStore { Contents = command["store"], Storage = command["storage"].Text };
        transport = new Counted();
        var options = new ClientOptions { Store = store, Clock = clock, Transport = transport, Device = "Test" };
        options.InstallId = given["installId"].Text;
        if (given.Has("timeoutMs")) options.TimeoutMs = given["timeoutMs"].Double;
        options.Sockets = !given.Has("sockets");
        options.OnOperation = (operation, result) => Tell("operation", null, operation, result.Json);
        options.OnPurchase = (operation, result) => Tell("purchase", null, operation, result.Json);
        options.OnSaved = (of, result) => Tell("saved", null, of, result.Json);
        options.OnWarning = message => Tell("warning", null, Json.Null);
        if (given.Has("merged")) {
            options.OnConflict = (mine, theirs, of) => {
                Tell("conflict", null, mine.Json, theirs.Json, of);
                return Task.FromResult(given["merged"]);
            };
        }
        client = new Client(command["url"].Text, options);
    }

    /// <summary>Lets the client work for some turns of its loop, until a whole round of them counts nothing more.</summary>
    async Task<Json> Settle() {
        for (var before = ""; ;) {
            for (var turn = 0; turn < 30; turn++) await Task.Yield();
            var report = new Json();
            foreach (var count in transport.Counts) report.Add(count.Key, count.Value);
            report.Add("due", clock.Due());
            var text = report.ToString();
            if (text == before) return report;
            before = text;
        }
    }

    async Task<Json> Call(Json command) {
        var name = command["call"].Text.Split('.');
        var input = command["input"];
        var source = stops[command["as"].Text] = new CancellationTokenSource();
        var options = new CallOptions { Stop = source.Token, TimeoutMs = command.Has("timeoutMs") ? command["timeoutMs"].Double : (double?)null };
        if (name[0] == "rooms" && name[1] == "match") {
            var match = await client.QuickMatch(input, options);
            if (!match.Ok) return match.Json;
            Follow(command["as"].Text, match.Room);
            return new Json { { "ok", true }, { "created", match.Created }, { "code", match.Room.Code } };
        }
        var feature = typeof(Client).GetField(Pascal(name[0])).GetValue(client);
        var method = feature.GetType().GetMethod(Pascal(name[1]));
        var arguments = Array.ConvertAll(method.GetParameters(), parameter => Argument(parameter, input, options));
        var task = (Task)method.Invoke(feature, arguments);
        await task;
        return ((View)task.GetType().GetProperty("Result").GetValue(task, null)).Json;
    }

    static object Argument(ParameterInfo parameter, Json input, CallOptions options) {
        var type = Nullable.GetUnderlyingType(parameter.ParameterType) ?? parameter.ParameterType;
        if (type == typeof(CallOptions)) return options;
        if (!input.Has(parameter.Name)) return null;
        var value = input[parameter.Name];
        if (type == typeof(string)) return value.Text;
        if (type == typeof(long)) return value.Long;
        if (type == typeof(double)) return value.Double;
        if (type == typeof(bool)) return value.Bool;
        if (type == typeof(Json)) return value;
        return new List<Json>(value.Items).ConvertAll(item => item.Text);
    }

    Watch Watching(string what, Json of, string name) {
        Action<WatchState> state = value => Tell("state", name, value.Json);
        Action<View> news = value => Tell("news", name, value.Json);
        switch (what) {
            case "room":
                var hello = !of.Has("hello") || of["hello"].Bool;
                return client.WatchRoom(
                    of["code"].Text, news, hello, you => Tell("you", name, you.Json), error => Tell("error", name, error.Json), state
                );
            case "pairing": return client.WatchPairing(of["token"].Text, of["secret"].Text, news, state);
            case "account": return client.WatchAccount(news, state);
            case "board":
                return client.WatchBoard(
                    of["game"].Text, (top, season) => Tell("news", name, ListOf(top), season == null ? Json.Null : season.Json), state
                );
            default:
                return client.WatchLobby(list => Tell("news", name, ListOf(list)), of["game"].Text, of["tags"], state);
        }
    }

    void Follow(string name, PlayedRoom room) {
        rooms[name] = room;
        room.Message += message => Tell("message", name, message.Json);
        room.Missed += missed => Tell("missed", name, missed);
        room.Refused += (error, action) => Tell("refused", name, error.Json, new Json { { "action", action } });
        room.Error += error => Tell("error", name, error.Json);
        room.Connection += state => Tell("connection", name, state.Json);
    }

    static Task<ActResult> Act(PlayedRoom room, string act, Json args) {
        var seq = args[1].Has("ifStateSeq") ? args[1]["ifStateSeq"].Long : (long?)null;
        switch (act) {
            case "set": return room.Set(args[0]);
            case "merge": return room.Merge(args[0]);
            case "setState": return room.SetState(args[0], seq);
            case "mergeState": return room.MergeState(args[0], seq);
            case "deal": return room.Deal(args[0], args.Count > 1 ? args[1] : null);
            case "send": return room.Send(args[0], new List<Json>(args[1].Items).ConvertAll(id => id.Text).ToArray());
            default: return room.Act(args[0].Text, args.Count > 1 ? args[1] : null);
        }
    }

    Json Shown(PlayedRoom room) {
        var me = room.Me == null ? Json.Null : room.Me.Json;
        return new Json { { "state", room.State }, { "players", ListOf(room.Players) }, { "me", me }, { "unanswered", room.Unanswered } };
    }

    async Task<Json> Do(Json command) {
        var of = command["of"];
        var name = command["as"].Text;
        switch (command["do"].Text) {
            case "start": Start(command); break;
            case "settle": return await Settle();
            case "advance": clock.Advance(command["to"].Double); break;
            case "clock": clock.Offset += command["ms"].Double; break;
            case "storage": store.Storage = command["storage"].Text; break;
            case "contents": store.Contents = command["store"]; break;
            case "call": return await Call(command);
            case "abort": stops[of.Text].Cancel(); break;
            case "wake":
                client.Wake();
                client.Saves.Wake();
                break;
            case "discardHeld": client.DiscardHeld(); break;
            case "close":
            case "end": client.Close(); break;
            case "who": return client.Who();
            case "watch": watches[name] = Watching(command["what"].Text, of, name); break;
            case "play": Follow(name, client.PlayRoom(command["code"].Text)); break;
            case "act": return (await Act(rooms[command["in"].Text], command["act"].Text, command["args"])).Json;
            case "leave":
                if (rooms.ContainsKey(of.Text)) rooms[of.Text].Close();
                else watches[of.Text].Close();
                break;
            case "shown": return Shown(rooms[of.Text]);
        }
        return Json.Null;
    }

    async void Answer(string line) {
        try {
            var command = Json.Parse(line);
            Write(new Json { { "id", command["id"] }, { "value", await Do(command) } });
        } catch (Exception error) {
            Console.Error.WriteLine(error);
            Environment.Exit(1);
        }
    }

    static void Main() => Dispatcher.Run(async () => {
        var driver = new Driver();
        var dispatcher = (Dispatcher)SynchronizationContext.Current;
        var ended = new TaskCompletionSource<bool>();
        var reading = new Thread(() => {
            var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
            for (string line; (line = input.ReadLine()) != null;) {
                var command = line;
                dispatcher.Post(() => driver.Answer(command));
            }
            dispatcher.Post(() => ended.SetResult(true));
        });
        reading.IsBackground = true;
        reading.Start();
        await ended.Task;
    });
}
