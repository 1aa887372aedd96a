import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Parser } from '@asyncapi/parser'
import { documentsOf } from '../../src/docs-page.ts'
import { platform, type Platform } from '../platform.ts'
import { until } from '../until.ts'
import { call, type Answer } from './call.ts'

interface Document {
  readonly servers: readonly {
    readonly url: string
    readonly variables: Record<string, { readonly default: string }>
  }[]
  readonly paths: Record<string, Record<string, { readonly operationId: string }>>
}

const ownHosts = {
  KAHA_BASE_URL: 'http://api.kaha.test',
  KAHA_TERMINAL_URL: 'http://terminal.kaha.test',
  KAHA_TERMINAL_WS_URL: 'ws://sockets.kaha.test:18080',
  KAHA_QR_URL: 'http://qr.kaha.test:18080',
  KAHA_WEBHOOKS_URL: 'http://hooks.kaha.test',
  KAHA_SANDBOX_URL: 'http://sandbox.kaha.test',
}

/** Where the document says that its paths lie. */
const addressIn = ({ servers: [server] }: Document): string =>
  (server?.url ?? '').replaceAll(/\{(\w+)\}/g, (_all, name: string) => server?.variables[name]?.default ?? '')

/** Sends to the server what a client would send to this address, whose name nobody resolves here. */
function sendTo(p: Platform, address: string, method = 'GET', headers: Record<string, string> = {}): Promise<Answer> {
  const { host, pathname } = new URL(address)
  return call(p.url, { method, path: pathname, headers: { host, ...headers } })
}

/** The operation that a request came to, by the log. */
async function tookIt(p: Platform, { headers }: Answer): Promise<string> {
  const id = String(headers['x-correlation-id'])
  const line = () => p.logged.find((one) => one.includes(id) && one.includes('"operation"'))
  await until(`a line about request ${id}`, () => line() !== undefined)
  return (JSON.parse(line() ?? '') as { operation: string }).operation
}

async function documentsAt(p: Platform): Promise<[name: string, document: Document][]> {
  const names = documentsOf(p.kaha.addresses, { sandbox: true, qr: true })
  const read = async (name: string): Promise<[string, Document]> => [
    name,
    (await call(p.url, { path: `/docs/openapi/${name}.json` })).json,
  ]
  return Promise.all(names.map(read))
}

async function assertAnswered(p: Platform): Promise<void> {
  for (const [name, document] of await documentsAt(p)) {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { operationId }] of Object.entries(methods)) {
        const address = `${addressIn(document)}${path.replaceAll(/\{\w+\}/g, 'x')}`
        const answer = await sendTo(p, address, method.toUpperCase())
        assert.equal(await tookIt(p, answer), operationId, `${name}: ${method} ${address}: ${answer.status}`)
      }
    }
  }
}

const isError = ({ severity }: { readonly severity: number }): boolean => severity === 0

/** The document of the sockets names an address where a handshake without a key is refused for that alone. */
async function assertSocketsAt(p: Platform, server: { host: string; pathname: string; protocol: string }) {
  const { text, json: document } = await call(p.url, { path: '/docs/asyncapi/terminals.json' })
  const { host, pathname, protocol } = document.servers.installation
  assert.deepEqual({ host, pathname, protocol }, server)
  const { diagnostics } = await new Parser().parse(text)
  assert.deepEqual(diagnostics.filter(isError), [])
  const handshake = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
  }
  const at = async (path: string) => (await sendTo(p, `http://${host}${pathname}${path}`, 'GET', handshake)).status
  assert.deepEqual([await at(document.channels.socket.address), await at('/none')], [401, 404])
}

const started = (t: TestContext, settings: Record<string, string> = {}) => platform(t, { settings })

test('every path of a document that an installation serves is answered under the address that the document names', async (t) => {
  const p = await started(t)
  for (const [name, document] of await documentsAt(p))
    assert.equal(new URL(addressIn(document)).host, `localhost:${new URL(p.url).port}`, name)
  await assertAnswered(p)
  await assertSocketsAt(p, { host: `localhost:${new URL(p.url).port}`, pathname: '/terminal', protocol: 'ws' })
})

test('so is it where the services have host names of their own', async (t) => {
  const p = await started(t, ownHosts)
  const named = Object.fromEntries((await documentsAt(p)).map(([name, document]) => [name, addressIn(document)]))
  assert.deepEqual(named, {
    ecommerce: ownHosts.KAHA_BASE_URL,
    webhooks: ownHosts.KAHA_BASE_URL,
    terminals: ownHosts.KAHA_TERMINAL_URL,
    qr: ownHosts.KAHA_QR_URL,
    qr_webhooks: ownHosts.KAHA_WEBHOOKS_URL,
    reporting: ownHosts.KAHA_BASE_URL,
    sandbox: ownHosts.KAHA_SANDBOX_URL,
  })
  await assertAnswered(p)
  await assertSocketsAt(p, { host: 'sockets.kaha.test:18080', pathname: '', protocol: 'ws' })
})
