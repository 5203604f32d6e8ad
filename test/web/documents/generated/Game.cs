using System;
using System.Collections.Generic;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

/// <summary>Calls the service by the generated client, and prints what it saw: `5 insufficient_coins 5 lobby 1`.</summary>
static class Game
{
    static void Main(string[] arguments)
    {
        var url = arguments[0];
        var installId = "install-csharp-0001";
        var coins = new CoinsApi(url);
        var credited = coins.CreditCoins(new CreditCoinsRequest(installId: installId, coins: 5, key: "level-7"));
        Console.Write(credited.BalanceAfterCoins + " ");
        try
        {
            coins.DebitCoins(new DebitCoinsRequest(installId: installId, coins: 9, key: "hat"));
        }
        catch (ApiException exception)
        {
            var refusal = JsonConvert.DeserializeObject<InsufficientCoinsRefusal>((string)exception.ErrorContent);
            var isKnown = refusal.Error.Code == InsufficientCoinsDetails.CodeEnum.Insufficientcoins;
            Console.Write((isKnown ? "insufficient_coins " : "? ") + refusal.Error.BalanceCoins + " ");
        }
        var rooms = new RoomsApi(url);
        var opened = rooms.CreateRoom(createRoomRequest: new CreateRoomRequest(installId: installId, maxPlayers: 2)).Room;
        Console.Write(opened.Phase == Room.PhaseEnum.Lobby ? "lobby " : "? ");
        var state = new Dictionary<string, object> { { "round", 1 } };
        var set = rooms.SetRoomState(opened.Code, setRoomStateRequest: new SetRoomStateRequest(installId: installId, state: state));
        Console.WriteLine(((JObject)set.Room.State)["round"]);
    }
}
