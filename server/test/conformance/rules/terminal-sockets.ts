import { built, joined } from './rule.ts'

/** Area D over WebSocket: handshake, connections, messages. */
export const terminalSockets = joined(
  built({
    'D5.handshake.header': 'a socket is authenticated in the handshake by the header x-api-key',
    'D5.handshake.query': 'the query parameter x-api-key does as well, though it may land in logs',
    'D5.handshake.group': 'x-group-id may name the group in the handshake',
    'D5.handshake.device': 'a terminal may give X-Device-Id in the handshake',
    'D5.handshake.unauthorized': 'a handshake without a known active key is HTTP 401',
    'D5.handshake.forbidden': 'a handshake for another group or a wrong role is HTTP 403',
    'D5.handshake.rate': 'a handshake over the rate limit is HTTP 429',
    'D5.handshake.draining': 'a handshake while the server drains is HTTP 503',
    'D5.socket.one-per-key': 'a key has one socket: the newest wins, and the older gets forceDisconnect and is closed',
    'D5.socket.one-per-device': 'a device has one socket: the newest wins',
    'D5.socket.late-close': 'the late close of an older socket unregisters nothing',
    'D5.socket.identity': 'a terminal is its device id, or its key where it has none',
    'D5.socket.device-claimed':
      'a device id belongs to the key that used it first; another key that claims it, or a connection id of another, is refused with 403',
    'D5.socket.ping': 'the server pings every 15 s',
    'D5.socket.stale': 'two missed pings, or 45 s without a frame, make a socket stale',
    'D5.socket.life': 'any inbound frame counts as life',
    'D5.socket.frame': 'a frame is JSON text of at most 64 KiB',
    'D5.connection.connects': 'offline or reconnecting, terminal connects: online, connected is pushed',
    'D5.connection.anew':
      'online, the same terminal connects anew: online with a new connectionId, connected is pushed',
    'D5.connection.key-moves': 'online, the same key connects under another device id: offline, disconnected is pushed',
    'D5.connection.lost':
      'online with a device id, socket lost, stale or closed by us: reconnecting, reconnecting is pushed',
    'D5.connection.lost-no-device':
      'online without a device id, socket lost, stale or closed by us: offline, disconnected is pushed',
    'D5.connection.closed': 'online, closed by itself with 1000 or by an operator: offline, disconnected is pushed',
    'D5.connection.grace': 'reconnecting, 60 s pass: offline, disconnected is pushed',
    'D5.connection.open-payments': 'whatever ends a socket makes its open payments AWAITING_RECONNECT',
    'D5.message.action':
      'every message is a JSON object with action, and pushes also have timestamp, groupId and version v1',
    'D5.message.request-id': 'a requestId that a client adds to an action comes back in its answers and errors',
    'D5.message.get-terminals':
      'getTerminals of a desktop is answered by terminalsResponse with terminals and timestamp',
    'D5.message.payment': 'payment of a desktop is answered by paymentAccepted, and later by paymentComplete',
    'D5.message.payment-again':
      'a payment that is asked for again over a socket is accepted again, and where it has ended or was given up that is pushed again',
    'D5.message.cancel-payment': 'cancelPayment of a desktop is answered by cancelAccepted',
    'D5.message.void-payment': 'voidPayment of a desktop is answered by voidResult',
    'D5.message.ping': 'ping of any client is answered by pong with a timestamp',
    'D5.message.to-terminal.payment':
      'a terminal gets payment with transactionId, terminalId, connectionId and paymentRequest',
    'D5.message.to-terminal.cancel-payment': 'a terminal gets cancelPayment with transactionId',
    'D5.message.to-terminal.void-payment': 'a terminal gets voidPayment with transactionId and reason',
    'D5.message.to-terminal.payment-status':
      'after each connect a terminal gets paymentStatus for every payment of an earlier connection that is open or ended without a result',
    'D5.message.from-terminal.payment-response':
      'a terminal reports a result as paymentResponse with transactionId and paymentResponse',
    'D5.message.from-terminal.payment-status': 'a terminal answers paymentStatus with PENDING or UNKNOWN',
    'D5.message.from-terminal.void-result': 'a terminal reports a void as voidResult',
    'D5.message.from-terminal.nothing': 'what a terminal sends as null, or as an empty or blank text, it has not said',
    'D5.push.connected':
      'terminalStatusUpdate connected has terminalId, connectionId, deviceId, status and terminalInfo',
    'D5.push.reconnecting': 'terminalStatusUpdate reconnecting has terminalId, deviceId and status',
    'D5.push.disconnected': 'terminalStatusUpdate disconnected has terminalId and status',
    'D5.push.group': 'pushes go to the desktops of the group and to nobody else',
    'D5.push.payment-complete': 'paymentComplete has transactionId, terminalId and paymentResponse',
    'D5.push.payment-complete-when': 'paymentComplete is pushed at each first move into COMPLETED, FAILED or CANCELLED',
    'D5.push.payment-voided': 'paymentVoided has transactionId, terminalId, reason and voidedAt',
    'D5.push.payment-timeout':
      'paymentTimeout has transactionId, terminalId and the code of the error, and is pushed when a payment is given up',
    'D5.push.missed':
      'a desktop that reconnects gets the paymentComplete and paymentVoided that it missed, for 7 days, of what it started',
    'D5.disconnect.form': 'forceDisconnect has reason and message, and the close follows',
    'D5.disconnect.api-key-used-elsewhere': 'api_key_used_elsewhere closes with 4001',
    'D5.disconnect.stale-connection-timeout': 'stale_connection_timeout closes with 4002',
    'D5.disconnect.server-restarting': 'server_restarting closes with 4004',
    'D5.socket-errors.form': 'an error on the socket has error, the status name, message, and the code of the HTTP API',
    'D5.socket-errors.invalid-json': 'Bad Request, Invalid JSON in message body',
    'D5.socket-errors.terminal-id': 'Bad Request, terminalId is required',
    'D5.socket-errors.payment-request': 'Bad Request, paymentRequest is required',
    'D5.socket-errors.terminal-not-found':
      'Not Found, Terminal connection not found: the terminal is unknown or not connected',
    'D5.socket-errors.desktop-only': 'Forbidden, Only desktop devices can request terminal list',
    'D5.socket-errors.other-group': 'Forbidden, Cannot send message to connection in different group',
    'D5.socket-errors.other': 'any other refusal is the status name and message of the matching HTTP error',
    'D5.socket.same-rules': 'payments over WebSocket obey the rules and deadlines of payments over HTTP',
    'D5.socket.rate':
      'what a till asks for on its socket counts with the requests of its key: over the rate it is Too Many Requests, RATE_LIMITED; what a terminal reports is never refused so',
    'D5.socket.slow': 'a consumer with more than 1 MiB buffered is closed',
    'D5.socket-errors.internal': 'Internal Server Error, Failed to process message',
    'D5.disconnect.other': 'other closes with 4000',
    'D5.socket.device-moved': 'an operator can move a device id to another key',
    'D5.disconnect.admin-action': 'admin_action closes with 4003',
    'D5.socket-errors.connection-not-found':
      'Not Found, Connection not found: the own connection of the sender was already replaced',
  }),
)
