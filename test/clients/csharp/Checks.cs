// Checks what the cases of the conformance run cannot reach: the client's own JSON, the main thread, and files. Prints what does not hold.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using Coinop;

static class Checks {
    static int count;
    static int failures;

    static void Is(string what, bool holds) {
        count++;
        if (holds) return;
        failures++;
        Console.WriteLine("! " + what);
    }

    static bool Throws<T>(Action run) where T : Exception {
        try {
            run();
            return false;
        } catch (T) {
            return true;
        }
    }

    // JSON.

    static void ReadsJson() {
        var same = new[] {
            "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "0.1", "-2.5", "1E+300",
            "1.7976931348623157E+308", "\"\"", "\"a\"", "[]", "{}", "[1,[2],{\"a\":null}]", "{\"a\":{\"b\":[true]},\"\":\"\"}",
            "\"é 😀\"", "\"\\ud83c\"", "\"\\\"\\\\\"", "\"\\u0000\"", "[0.30000000000000004]",
        };
        foreach (var text in same) Is("the same text: " + text, Json.Parse(text).ToString() == text);
        var read = new Dictionary<string, string> {
            { " [ 1 , 2 ]\n", "[1,2]" }, { "{ \"a\" : 1 }", "{\"a\":1}" }, { "-0", "0" }, { "1.0", "1" }, { "1e2", "100" },
            { "\"\\u0041\\n\\/\"", "\"A\\u000a/\"" }, { "{\"a\":1,\"a\":2}", "{\"a\":2}" }, { "\"\\ud83d\\ude00\"", "\"😀\"" },
            { "9223372036854775808", "9.2233720368547758E+18" },
        };
        foreach (var pair in read) Is("read: " + pair.Key, Json.Parse(pair.Key).ToString() == pair.Value);
        Is("the smallest number", Json.Parse(Json.Parse("5e-324").ToString()).Double == double.Epsilon);
        var refused = new[] {
            "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{\"a\"}", "{\"a\" 1}", "{a:1}", "{1:1}", "[1 2]", "01", "-", "1.", ".5", "+1", "1e", "1e+",
            "0x1", "nul", "nulls", "True", "NaN", "Infinity", "1e400", "'a'", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\n\"",
            "\"\u0001\"", "1 1", "[]]", "/**/1", "\u00a01", "\ufeff1",
        };
        foreach (var text in refused) Is("refused: " + text, Throws<FormatException>(() => Json.Parse(text)) && Json.Read(text) == null);
    }

    static void IsBounded() {
        Func<int, string> nested = depth => new string('[', depth) + new string(']', depth);
        Is("as deep as may be", Json.Parse(nested(Json.MostDepth + 1)).ToString() == nested(Json.MostDepth + 1));
        Is("too deep", Throws<FormatException>(() => Json.Parse(nested(Json.MostDepth + 2))));
        Is("much too deep", Throws<FormatException>(() => Json.Parse(new string('[', 1000000))));
        Is("too long", Throws<FormatException>(() => Json.Parse("\"" + new string('a', Json.MostLength) + "\"")));
        var deep = (Json)1;
        for (var level = 0; level < Json.MostDepth + 2; level++) deep = Json.List(deep);
        Is("too deep to write", Throws<FormatException>(() => deep.ToString()));
        foreach (var number in new[] { double.NaN, double.PositiveInfinity, double.NegativeInfinity })
            Is("no number of JSON", Throws<FormatException>(() => Json.List(number).ToString()));
    }

    static Json RandomJson(Random random, int depth) {
        switch (random.Next(depth > 4 ? 5 : 7)) {
            case 0: return Json.Null;
            case 1: return random.Next(2) == 0;
            case 2: return (((long)random.Next() << 33) ^ ((long)random.Next() << 4)) * (random.Next(2) == 0 ? 1 : -1);
            case 3: return BitConverter.Int64BitsToDouble(((long)random.Next(0x3ff) << 52) | ((long)random.Next() << 20));
            case 4: return RandomText(random);
            case 5:
                var list = new List<Json>();
                for (var left = random.Next(5); left > 0; left--) list.Add(RandomJson(random, depth + 1));
                return Json.ListOf(list);
            default:
                var made = new Json();
                for (var left = random.Next(5); left > 0; left--) made.Add(RandomText(random), RandomJson(random, depth + 1));
                return made;
        }
    }

    static string RandomText(Random random) {
        var text = new char[random.Next(6)];
        for (var at = 0; at < text.Length; at++) text[at] = (char)random.Next(random.Next(2) == 0 ? 128 : 65536);
        return new string(text);
    }

    static bool Same(Json one, Json other) {
        if (one.Kind == JsonKind.Number || one.Kind == JsonKind.Whole) return one.Double == other.Double && one.Long == other.Long;
        if (one.Kind != other.Kind || one.Text != other.Text || one.Bool != other.Bool || one.Count != other.Count) return false;
        for (var at = 0; at < one.Items.Count; at++)
            if (!Same(one[at], other[at])) return false;
        foreach (var member in one)
            if (!other.Has(member.Key) || !Same(member.Value, other[member.Key])) return false;
        return true;
    }

    static void ReadsWhatItWrites(int seed) {
        var random = new Random(seed);
        for (var turn = 0; turn < 5000; turn++) {
            var value = RandomJson(random, 0);
            Is("read as written, seed " + seed + ": " + value, Same(value, Json.Parse(value.ToString())));
        }
    }

    // Patches. The examples of RFC 7396, appendix A.

    static void MergesPatches() {
        var examples = new[] {
            "{\"a\":\"b\"}|{\"a\":\"c\"}|{\"a\":\"c\"}", "{\"a\":\"b\"}|{\"b\":\"c\"}|{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":\"b\"}|{\"a\":null}|{}",
            "{\"a\":\"b\",\"b\":\"c\"}|{\"a\":null}|{\"b\":\"c\"}", "{\"a\":[\"b\"]}|{\"a\":\"c\"}|{\"a\":\"c\"}",
            "{\"a\":\"c\"}|{\"a\":[\"b\"]}|{\"a\":[\"b\"]}", "{\"a\":{\"b\":\"c\"}}|{\"a\":{\"b\":\"d\",\"c\":null}}|{\"a\":{\"b\":\"d\"}}",
            "{\"a\":[{\"b\":\"c\"}]}|{\"a\":[1]}|{\"a\":[1]}", "[\"a\",\"b\"]|[\"c\",\"d\"]|[\"c\",\"d\"]", "{\"a\":\"b\"}|[\"c\"]|[\"c\"]",
            "{\"a\":\"foo\"}|null|null", "{\"a\":\"foo\"}|\"bar\"|\"bar\"", "{\"e\":null}|{\"a\":1}|{\"e\":null,\"a\":1}",
            "[1,2]|{\"a\":\"b\",\"c\":null}|{\"a\":\"b\"}", "{}|{\"a\":{\"bb\":{\"ccc\":null}}}|{\"a\":{\"bb\":{}}}",
        };
        foreach (var example in examples) {
            var parts = example.Split('|');
            var before = Json.Parse(parts[0]);
            Is("merged: " + example, Patch.Merged(before, Json.Parse(parts[1])).ToString() == parts[2] && before.ToString() == parts[0]);
        }
    }

    // Files.

    static void KeepsFiles(string folder) {
        var store = new FileStore(Path.Combine(folder, "kept"));
        Is("an empty folder", store.Get("a") == null && store.Keys().Count == 0);
        store.Remove("a");
        var keys = new[] { "a", "A", "coinop:op:1", "../b", "a/b\\c", "é", "%61%", "", ".", new string('k', 60) };
        foreach (var key in keys) store.Set(key, "of " + key);
        foreach (var key in keys) Is("kept: " + key, store.Get(key) == "of " + key);
        Is("all keys", new HashSet<string>(store.Keys()).SetEquals(keys) && store.Keys().Count == keys.Length);
        Is("all files are in the folder", Directory.GetFileSystemEntries(folder).Length == 1);
        store.Set("a", "new");
        store.Remove("A");
        Is("one is set, another removed", store.Get("a") == "new" && store.Get("A") == null);
        // A process that was killed while it wrote.
        File.WriteAllText(Path.Combine(folder, "kept", "a.json.new"), "[\"a\",\"ha");
        Is("a half-written file", store.Get("a") == "new");
        store.Set("a", "newer");
        Is("it is written again", store.Get("a") == "newer" && store.Keys().Count == keys.Length - 1);
        File.WriteAllText(Path.Combine(folder, "kept", "a.json"), "[\"a\",\"ha");
        Is("a damaged file", store.Get("a") == null);
    }

    // The main thread.

    /// <summary>Answers each request on a thread of its own.</summary>
    sealed class Elsewhere : ITransport {
        public Task<Answer> Request(string method, string url, IDictionary<string, string> headers, string body, CancellationToken stop) {
            var text = url.Contains("/coins/") ? "{\"ok\":true,\"balanceAfterCoins\":5}" : "{\"ok\":true,\"balanceCoins\":5}";
            return Task.Run(() => new Answer { Status = 200, Text = text });
        }

        public Task<ISocket> Connect(string url, CancellationToken stop) => throw new IOException("No sockets");
    }

    static void StaysOnItsThread() {
        var main = Thread.CurrentThread.ManagedThreadId;
        var threads = new List<int>();
        var thrown = new List<Exception>();
        var dispatcher = new Dispatcher { OnException = thrown.Add };
        var options = new ClientOptions { Transport = new Elsewhere(), Dispatcher = dispatcher, Sockets = false };
        options.OnOperation = (operation, result) => {
            threads.Add(Thread.CurrentThread.ManagedThreadId);
            throw new InvalidOperationException("A mistake of the game");
        };
        var client = new Client("http://127.0.0.1:9", options);
        client.WatchAccount(account => threads.Add(Thread.CurrentThread.ManagedThreadId));
        var calls = new List<Task<CoinOperationReply>>();
        // Half of the calls come from other threads.
        for (var number = 0; number < 20; number++) {
            Func<Task<CoinOperationReply>> call = () => client.Coins.Credit(coins: 1);
            calls.Add(number % 2 == 0 ? call() : Task.Run(call));
        }
        var isRefused = Task.Run(() => Throws<InvalidOperationException>(client.Update)).Result;
        var until = DateTime.UtcNow.AddSeconds(30);
        while (!(calls.TrueForAll(call => call.IsCompleted) && threads.Count > 20) && DateTime.UtcNow < until) client.Update();
        Is("another thread may not pump", isRefused);
        Is("another thread may not watch", Task.Run(() => Throws<InvalidOperationException>(() => client.PlayRoom("BCDFG"))).Result);
        var room = client.PlayRoom("BCDFG");
        Task<ActResult> act = null;
        Task.Run(() => { act = room.Set(1); }).Wait();
        Is("an act of another thread waits for the next frame", room.Unanswered == 0);
        client.Update();
        Is("it is in the room then", room.Unanswered == 1 || act.IsCompleted);
        room.Close();
        Is("calls of any thread are done", calls.TrueForAll(call => call.IsCompleted && call.Result.Ok));
        Is("every callback is on the main thread", threads.Count > 20 && threads.TrueForAll(thread => thread == main));
        Is("what the game throws is told, and stops nothing", thrown.Count == 20 && thrown.TrueForAll(error => error is InvalidOperationException));
        client.Close();
        var late = client.Coins.Credit(coins: 1);
        client.Update();
        Is("a closed client refuses", late.IsCompleted && late.Result.Error.Code == "aborted");
    }

    sealed class Stale : ITransport {
        internal int Requests;

        public Task<Answer> Request(string method, string url, IDictionary<string, string> headers, string body, CancellationToken stop) {
            Requests++;
            var text = "{\"ok\":false,\"error\":{\"code\":\"stale_save\",\"message\":\"m\",\"version\":3,\"data\":\"theirs\"}}";
            return Task.FromResult(new Answer { Status = 409, Text = text });
        }

        public Task<ISocket> Connect(string url, CancellationToken stop) => throw new IOException("No sockets");
    }

    static void TellsMistakesOfConflicts() {
        var thrown = new List<Exception>();
        var dispatcher = new Dispatcher { OnException = thrown.Add };
        var transport = new Stale();
        var options = new ClientOptions { Transport = transport, Dispatcher = dispatcher };
        options.OnConflict = (mine, theirs, of) => throw new InvalidOperationException("A mistake of the game");
        var client = new Client("http://127.0.0.1:9", options);
        for (var turn = 1; turn < 3; turn++) {
            var before = transport.Requests;
            var saved = client.Saves.Save("drop", "slot-1", turn);
            client.Update();
            Is("a save whose conflict throws is not done", saved.IsFaulted && saved.Exception.InnerException is InvalidOperationException);
            Is("the next one is sent", transport.Requests > before);
        }
        // The start of the client has sent it too, for nobody who could get the exception.
        Is("a conflict in the background is told", thrown.Count == 1);
        client.Close();
    }

    static void SettlesLater() {
        var dispatcher = new Dispatcher();
        var promise = new Promise<int>(dispatcher);
        var seen = 0;
        Func<Task> wait = async () => seen = await promise.Task;
        dispatcher.Post(() => wait());
        dispatcher.Post(() => {
            promise.Settle(1);
            promise.Settle(2);
            Is("nobody goes on within the work that settles", seen == 0);
        });
        dispatcher.Pump();
        Is("the first result counts", seen == 1);
        var turns = 0;
        Action again = null;
        again = () => {
            turns++;
            dispatcher.Post(again);
        };
        again();
        dispatcher.Pump();
        Is("work without end leaves the game its frame", turns > 1);
    }

    static void RunsTimers() {
        var order = "";
        Dispatcher.Run(async () => {
            var dispatcher = (Dispatcher)SynchronizationContext.Current;
            var done = new TaskCompletionSource<bool>();
            dispatcher.Later(30, () => order += "c");
            dispatcher.Later(0, () => order += "a");
            dispatcher.Later(10, () => order += "x").Dispose();
            dispatcher.Later(20, () => order += "b");
            dispatcher.Later(40, () => done.SetResult(true));
            await done.Task;
        });
        Is("timers fire in their order, and not when they were disposed", order == "abc");
        Is("a program gives its exception", Throws<IOException>(() => Dispatcher.Run(async () => {
            await Task.Delay(1);
            throw new IOException();
        })));
    }

    static int Main(string[] args) {
        ReadsJson();
        IsBounded();
        ReadsWhatItWrites(int.Parse(args[1]));
        MergesPatches();
        KeepsFiles(args[0]);
        StaysOnItsThread();
        TellsMistakesOfConflicts();
        SettlesLater();
        RunsTimers();
        foreach (var bad in new[] { "", "ftp://a", "http://", "http://a/b", "http://u@a", "http://a?b", "http://a b" })
            Is("no address: " + bad, Throws<ArgumentException>(() => new Client(bad)));
        Is("no install", Throws<ArgumentException>(() => new Client("http://a", new ClientOptions { InstallId = "a\nb" })));
        Console.WriteLine(count + " checks, " + failures + " failures");
        return failures == 0 ? 0 : 1;
    }
}
