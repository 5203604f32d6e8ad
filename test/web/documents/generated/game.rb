# Calls the service by the generated client, and prints what it saw: `5 insufficient_coins 5`. This version of the generator reads no field
# of any type in Ruby, such as the state of a room.
require 'uri'
require 'openapi_client'

# This version of the generator writes no Ruby that runs for a credential in a cookie. The game needs no credential.
OpenapiClient::Configuration.define_method(:auth_settings) { {} }

install_id = 'install-ruby-0001'
url = URI(ARGV.fetch(0))
OpenapiClient.configure do |config|
  config.scheme = url.scheme
  config.host = "#{url.host}:#{url.port}"
  config.base_path = ''
end
coins = OpenapiClient::CoinsApi.new
credited = coins.credit_coins(OpenapiClient::CreditCoinsRequest.new(install_id: install_id, coins: 5, key: 'level-7'))
begin
  coins.debit_coins(OpenapiClient::DebitCoinsRequest.new(install_id: install_id, coins: 9, key: 'hat'))
rescue OpenapiClient::ApiError => refused
  body = JSON.parse(refused.response_body, symbolize_names: true)
  error = OpenapiClient::InsufficientCoinsRefusal.build_from_hash(body).error
end
puts [credited.balance_after_coins, error.code, error.balance_coins].join(' ')
