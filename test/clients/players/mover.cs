// A bot that makes each second move of a room: URL CODE INSTALL FOLDER MOVES PARITY.
using System;
using System.Threading.Tasks;
using Coinop;

static class Mover {
    static void Main(string[] args) => Dispatcher.Run(async () => {
        var moves = int.Parse(args[4]);
        var parity = int.Parse(args[5]);
        var client = new Client(args[0], new ClientOptions { Store = new FileStore(args[3]), InstallId = args[2] });
        while (!(await client.Rooms.Join(args[1], name: "Bot", options: new CallOptions { TimeoutMs = 60000 })).Ok) await Task.Delay(1000);
        var room = client.PlayRoom(args[1]);
        var done = new TaskCompletionSource<bool>();
        var last = -1L;
        room.Refused += (error, act) => Console.WriteLine("REFUSED " + error.Code);
        room.Change += shown => {
            var number = shown.State["move"].Long;
            if (number < last) Console.WriteLine("BACK " + number + " " + last);
            last = number;
            if (shown.Unanswered > 0) return;
            if (number >= moves) done.TrySetResult(true);
            else if (number % 2 == parity && shown.Me != null && shown.Players.Count == 2)
                shown.SetState(new Json { { "move", number + 1 } }, shown.Room.StateSeq);
        };
        await done.Task;
        client.Close();
    });
}
