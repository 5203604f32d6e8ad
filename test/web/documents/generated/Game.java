import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CoinsApi;
import org.openapitools.client.api.RoomsApi;
import org.openapitools.client.model.CreateRoomRequest;
import org.openapitools.client.model.CreditCoinsRequest;
import org.openapitools.client.model.DebitCoinsRequest;
import org.openapitools.client.model.InsufficientCoinsDetails;
import org.openapitools.client.model.InsufficientCoinsRefusal;
import org.openapitools.client.model.Room;
import org.openapitools.client.model.SetRoomStateRequest;

/** Calls the service by the generated client, and prints what it saw: `5 insufficient_coins 5 lobby 1`. */
public final class Game {
  public static void main(String[] arguments) throws Exception {
    String installId = "install-java-0001";
    URI url = URI.create(arguments[0]);
    ApiClient client = new ApiClient().setScheme(url.getScheme()).setHost(url.getHost()).setPort(url.getPort()).setBasePath("");
    CoinsApi coins = new CoinsApi(client);
    Long balance = coins.creditCoins(new CreditCoinsRequest().installId(installId).coins(5).key("level-7"), null).getBalanceAfterCoins();
    String code = "";
    Long missing = null;
    try {
      coins.debitCoins(new DebitCoinsRequest().installId(installId).coins(9).key("hat"), null);
    } catch (ApiException exception) {
      InsufficientCoinsDetails error =
          new ObjectMapper().readValue(exception.getResponseBody(), InsufficientCoinsRefusal.class).getError();
      code = error.getCode() == InsufficientCoinsDetails.CodeEnum.INSUFFICIENT_COINS ? error.getCode().getValue() : "?";
      missing = error.getBalanceCoins();
    }
    RoomsApi rooms = new RoomsApi(client);
    Room opened = rooms.createRoom(new CreateRoomRequest().installId(installId).maxPlayers(2), null).getRoom();
    SetRoomStateRequest round = new SetRoomStateRequest().installId(installId).state(Map.of("round", 1));
    Room set = rooms.setRoomState(opened.getCode(), null, round).getRoom();
    Object state = set.getState();
    System.out.println(balance + " " + code + " " + missing + " " + opened.getPhase().getValue() + " " + ((Map<?, ?>) state).get("round"));
  }
}
