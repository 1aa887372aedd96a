import type { TSchema } from 'typebox'
import { terminalAnswerExamples } from './terminal-answer-examples.ts'
import { terminalAnswers, terminalRequests, type TerminalMessage } from './terminal-messages.ts'
import { terminalRequestExamples, type ExamplesOf } from './terminal-request-examples.ts'
import {
  CustomerInfo,
  Product,
  TerminalInfo,
  TerminalPaymentRequest,
  TerminalPaymentResponse,
} from './terminal-types.ts'

/** A value of JSON, as far as this module looks into it. */
type Tree = { readonly [name: string]: unknown }

/** An AsyncAPI 3.0 document (https://www.asyncapi.com/docs/reference/specification/v3.0.0). */
export interface AsyncApiDocument extends Tree {
  readonly asyncapi: '3.0.0'
}

const schemas: Readonly<Record<string, TSchema>> = {
  TerminalPaymentRequest,
  TerminalPaymentResponse,
  TerminalInfo,
  Product,
  CustomerInfo,
}

const description = `Terminals and tills speak with the platform over WebSocket: JSON text, one object with \`action\` a message, at most 64 KiB.

A key is sent in the handshake as \`x-api-key\` (or as a query parameter, which servers may log), the group may be named in \`x-group-id\`, and a terminal
gives its stable name in \`X-Device-Id\`, 1 to 64 characters of ASCII, spaces among them, and not \`.\` or \`..\`. A refused handshake is HTTP, with
the body of the HTTP API's errors: 400 where it is none or the device id has another form, 401, 403, 404 at another path, 429, or 503 with \`Retry-After\` while the server restarts, holds as many
sockets as it can, or cannot reach its database.

A client may add \`requestId\` to any message: answers and errors to it have it too. Pushes have \`timestamp\`, \`groupId\` and \`version\`.
The server pings every 15 seconds; a socket without a frame for 45 seconds is closed. One key has one socket: the newest.`

/** Named schemas are recognised by what they say: a copy, as an optional property makes one, keeps its name. */
const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]))

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner)]))
}

function shown(value: unknown): unknown {
  const name = names.get(JSON.stringify(value))
  return name === undefined ? inside(value) : { $ref: `#/components/schemas/${name}` }
}

const all: Readonly<Record<string, TerminalMessage>> = { ...terminalRequests, ...terminalAnswers }

const allExamples: ExamplesOf<Record<string, unknown>> = { ...terminalRequestExamples, ...terminalAnswerExamples }

const messageOf = ({ summary, schema }: TerminalMessage, name: string): Tree => ({
  name,
  summary,
  contentType: 'application/json',
  payload: shown(schema),
  examples: Object.entries(allExamples[name] ?? {}).map(([of, example]) => ({ name: of, ...example })),
})

const whose = { desktop: 'tills', terminal: 'terminals', any: 'tills and terminals' } as const

function operationOf(name: string, { from, to, summary }: TerminalMessage): Tree {
  // As the server sees it: it receives what clients send.
  const action = from === 'server' ? 'send' : 'receive'
  const who = from === 'server' ? `To ${whose[to ?? 'any']}.` : `From ${whose[from]}.`
  return {
    action,
    channel: { $ref: '#/channels/socket' },
    summary: `${who} ${summary}`,
    messages: [{ $ref: `#/channels/socket/messages/${name}` }],
  }
}

/** The document of area D's sockets, made from the messages of the contract. Equal messages give equal documents, byte for byte. */
export function asyncapiDocument(): AsyncApiDocument {
  const each = Object.entries(all)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Kaha terminal sockets',
      version: '1.0.0',
      description,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      installation: {
        host: 'localhost:8080',
        pathname: '/terminal',
        protocol: 'ws',
        description: 'The address `terminal_ws_url` of your installation.',
        security: [{ $ref: '#/components/securitySchemes/apiKey' }],
      },
    },
    channels: {
      socket: {
        address: '/v1',
        title: 'The socket of a till or a terminal',
        messages: Object.fromEntries(each.map(([name]) => [name, { $ref: `#/components/messages/${name}` }])),
      },
    },
    operations: Object.fromEntries(each.map(([name, one]) => [name, operationOf(name, one)])),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'httpApiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The API key of the till or terminal.',
        },
      },
      messages: Object.fromEntries(each.map(([name, one]) => [name, messageOf(one, name)])),
      schemas: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, inside(schema)])),
    },
  }
}
