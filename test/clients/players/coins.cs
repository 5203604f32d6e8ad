// A player who earns a coin so many times, and goes on where the process before was killed: URL FOLDER TIMES.
using System;
using System.IO;
using System.Threading.Tasks;
using Coinop;

static class Coins {
    static void Main(string[] args) => Dispatcher.Run(async () => {
        Directory.CreateDirectory(args[1]);
        var begun = Path.Combine(args[1], "begun");
        var client = new Client(args[0], new ClientOptions { Store = new FileStore(Path.Combine(args[1], "store")), TimeoutMs = 600000 });
        for (var number = File.Exists(begun) ? int.Parse(File.ReadAllText(begun)) : 0; number < int.Parse(args[2]); number++) {
            var call = client.Coins.Credit(coins: 1, key: "earned-" + number);
            // The client has stored the operation by now: whatever happens, it will be done, and nobody calls it again.
            File.WriteAllText(begun + ".new", (number + 1).ToString());
            if (File.Exists(begun)) File.Replace(begun + ".new", begun, null);
            else File.Move(begun + ".new", begun);
            await call;
        }
        // What the processes before have left.
        while (!client.IsIdle) await Task.Delay(50);
        Console.WriteLine(client.Who()["installId"].Text);
        client.Close();
    });
}
