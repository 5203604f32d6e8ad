// Runs the samples of the page of the C# client, each as a reader would: `pages.exe URL FOLDER`. pages.ts compiles it with the samples.
//
// The names of the reader's own game are functions that note their calls. A sample has to end without an exception, and every function of the
// game that it mentions has to be called.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using Coinop;

static partial class Pages {
    const double PatienceMs = 20000;
    static readonly HashSet<string> Called = new HashSet<string>();
    static string folder;
    static Client client;
    static string code;
    static string token;

    static void Draw(IReadOnlyList<Player> players, Json state) => Called.Add("Draw");
    static void DrawBoard(IReadOnlyList<HighscoreEntry> top) => Called.Add("DrawBoard");
    static void ShowBalance(long coins) => Called.Add("ShowBalance");
    static void ShowProblem(ErrorDetails error) => Called.Add("ShowProblem");
    static void Undo(string type, long coins) => Called.Add("Undo");
    static void ShowList(IReadOnlyList<ListedRoom> rooms) => Called.Add("ShowList");
    static void ShowConnection(string status) => Called.Add("ShowConnection");
    static void ShowCoins(long coins) => Called.Add("ShowCoins");
    static void ShowAds(bool shown) => Called.Add("ShowAds");
    static void ShowSeat(string playerId) => Called.Add("ShowSeat");
    static void ShowCode(string url, string matchCode) => Called.Add("ShowCode");
    static bool AskPlayer(string question) => true;

    static async Task Run(string url, string place, Func<Task> sample, params string[] expected) {
        Called.Clear();
        folder = System.IO.Path.Combine(Environment.GetCommandLineArgs()[2], Guid.NewGuid().ToString());
        var host = new Client(url);
        var created = await host.Rooms.Create(name: "Host", @public: true, game: "duel", tags: new Json { { "mode", "ranked" } });
        code = created.Room.Code;
        token = (await host.Pairing.Open()).Token;
        client = new Client(url);
        await client.Coins.Credit(coins: 20);
        await client.Rooms.Join(code, name: "Ada");
        await client.Highscores.Submit(game: "pebble-drop", score: 5, name: "Ada");
        try {
            await sample();
            var clock = new Dispatcher();
            while (!Called.IsSupersetOf(expected)) {
                if (clock.Now() > PatienceMs) throw new Exception("never called: one of " + string.Join(", ", expected));
                await Task.Delay(20);
            }
        } catch (Exception error) {
            Console.WriteLine(place + ": " + error);
        }
        client.Close();
        host.Close();
    }
}
