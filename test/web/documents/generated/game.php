<?php
// Calls the service by the generated client, and prints what it saw: `5 insufficient_coins 5`. This version of the generator reads no
// field of any type under PHP 8, such as the state of a room.

namespace GuzzleHttp\Psr7 {
    // The generated client is made for guzzlehttp/psr7 1. Version 2, which Debian has, gave this function another place.
    function build_query(array $params): string
    {
        return Query::build($params);
    }
}

namespace {
    use OpenAPI\Client\Api\CoinsApi;
    use OpenAPI\Client\ApiException;
    use OpenAPI\Client\Configuration;
    use OpenAPI\Client\Model\CreditCoinsRequest;
    use OpenAPI\Client\Model\DebitCoinsRequest;
    use OpenAPI\Client\Model\InsufficientCoinsRefusal;

    error_reporting(E_ALL & ~E_DEPRECATED);
    [, $url, $client] = $argv;
    require 'GuzzleHttp/autoload.php';
    spl_autoload_register(function (string $class) use ($client): void {
        $file = $client . str_replace(['OpenAPI\\Client', '\\'], ['', '/'], $class) . '.php';
        if (is_file($file)) require_once $file;
    });
    foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator($client)) as $file) {
        if ($file->getExtension() === 'php') require_once $file->getPathname();
    }

    $installId = 'install-php-0001';
    // Without this the generated client sends an empty bearer, and no bearer is as good as a session.
    $configuration = (new Configuration())->setHost($url)->setAccessToken(null);
    $coins = new CoinsApi(null, $configuration);
    $credited = $coins->creditCoins(new CreditCoinsRequest(['install_id' => $installId, 'coins' => 5, 'key' => 'level-7']));
    try {
        $coins->debitCoins(new DebitCoinsRequest(['install_id' => $installId, 'coins' => 9, 'key' => 'hat']));
    } catch (ApiException $refused) {
        /** @var InsufficientCoinsRefusal $refusal */
        $refusal = $refused->getResponseObject();
        $error = $refusal->getError();
    }
    echo implode(' ', [$credited->getBalanceAfterCoins(), $error->getCode(), $error->getBalanceCoins()]), "\n";
}
