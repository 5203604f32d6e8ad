"""Calls the service by the generated client, and prints what it saw: `5 insufficient_coins 5 lobby 1`."""

import sys
from types import SimpleNamespace

import openapi_client as coinop

install_id = "install-python-0001"
client = coinop.ApiClient(coinop.Configuration(host=sys.argv[1]))
# This version of the generator reads it, and does not set it.
client.configuration.access_token = None
coins, rooms = coinop.CoinsApi(client), coinop.RoomsApi(client)
credited = coins.credit_coins(coinop.CreditCoinsRequest(install_id=install_id, coins=5, key="level-7"))
try:
    coins.debit_coins(coinop.DebitCoinsRequest(install_id=install_id, coins=9, key="hat"))
except coinop.ApiException as refused:
    error = client.deserialize(SimpleNamespace(data=refused.body), "InsufficientCoinsRefusal").error
opened = rooms.create_room(create_room_request=coinop.CreateRoomRequest(install_id=install_id, max_players=2)).room
round = coinop.SetRoomStateRequest(install_id=install_id, state={"round": 1})
state = rooms.set_room_state(opened.code, set_room_state_request=round).room.state
print(credited.balance_after_coins, error.code, error.balance_coins, opened.phase, state["round"])
