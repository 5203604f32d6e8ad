// The WebSocket and the localStorage of the browser, for games of Unity that run in one. Unity's compiler reads ES5.
var coinop = {
  $Coinop: {
    sockets: {},
    last: 0,
    // The text in the memory of the game, which frees it. 0 is null.
    text: function (value) {
      if (value === null) return 0;
      var size = lengthBytesUTF8(value) + 1;
      var at = _malloc(size);
      stringToUTF8(value, at, size);
      return at;
    },
    // What storage throws when the page may not use it, or when it is full.
    tried: function (use, refused) {
      try {
        return use();
      } catch (error) {
        return refused;
      }
    },
  },

  CoinopSocketOpen: function (url) {
    var id = ++Coinop.last;
    // state: 0 opens, 1 is open, 2 has ended.
    var made = { state: 0, code: 1006, texts: [], socket: null };
    Coinop.sockets[id] = made;
    try {
      made.socket = new WebSocket(UTF8ToString(url));
    } catch (error) {
      made.state = 2;
      return id;
    }
    made.socket.onopen = function () {
      made.state = 1;
    };
    made.socket.onmessage = function (event) {
      if (typeof event.data === 'string') made.texts.push(event.data);
    };
    made.socket.onclose = function (event) {
      made.state = 2;
      made.code = event.code;
    };
    return id;
  },

  CoinopSocketState: function (id) {
    var made = Coinop.sockets[id];
    return made ? made.state : 2;
  },

  CoinopSocketCode: function (id) {
    var made = Coinop.sockets[id];
    return made ? made.code : 1006;
  },

  CoinopSocketNext: function (id) {
    var made = Coinop.sockets[id];
    return Coinop.text(made && made.texts.length > 0 ? made.texts.shift() : null);
  },

  CoinopSocketSend: function (id, text) {
    var made = Coinop.sockets[id];
    if (made && made.state === 1) made.socket.send(UTF8ToString(text));
  },

  CoinopSocketClose: function (id) {
    var made = Coinop.sockets[id];
    delete Coinop.sockets[id];
    if (made && made.socket) made.socket.close();
  },

  CoinopStoreGet: function (key) {
    return Coinop.text(
      Coinop.tried(function () {
        return JSON.stringify(localStorage.getItem(UTF8ToString(key)));
      }, null),
    );
  },

  CoinopStoreSet: function (key, value) {
    return Coinop.tried(function () {
      localStorage.setItem(UTF8ToString(key), UTF8ToString(value));
      return 1;
    }, 0);
  },

  CoinopStoreRemove: function (key) {
    return Coinop.tried(function () {
      localStorage.removeItem(UTF8ToString(key));
      return 1;
    }, 0);
  },

  CoinopStoreKeys: function () {
    return Coinop.text(
      Coinop.tried(function () {
        return JSON.stringify(Object.keys(localStorage));
      }, null),
    );
  },
};
autoAddDeps(coinop, '$Coinop');
mergeInto(LibraryManager.library, coinop);
