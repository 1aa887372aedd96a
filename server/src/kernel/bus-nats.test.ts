import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { busSuite, nextHint } from '../../test/bus-suite.ts'
import { startLineProxy } from '../../test/line-proxy.ts'
import { startMuteNats } from '../../test/mute-servers.ts'
import { noNats, startNats } from '../../test/nats.ts'
import { until } from '../../test/until.ts'
import { natsBus, type NatsServers } from './bus-nats.ts'
import { StartFault } from './fault.ts'

const broker = noNats === undefined ? await startNats() : undefined
after(() => broker?.[Symbol.asyncDispose]())

const at = (port: number, who: Partial<NatsServers> = {}): NatsServers => ({
  at: [{ host: '127.0.0.1', port }],
  tls: false,
  user: null,
  secret: null,
  ...who,
})
const quiet = { debounceMs: 1, retryMs: 5, onLost: () => {} }

busSuite({
  over: 'NATS',
  missing: noNats,
  async carrier() {
    const subject = `kaha.${randomUUID()}`
    return async () => {
      const line = await startLineProxy({ host: '127.0.0.1', port: broker?.port ?? 0 })
      return { line, open: (options) => natsBus({ ...options, servers: at(line.port), subject }) }
    }
  },
})

const withNats = (promise: string, check: (t: TestContext) => Promise<void>) =>
  void test(promise, (t) => (noNats === undefined ? check(t) : t.skip(noNats)))

withNats('processes find each other again after kill -9 of the broker and its restart', async () => {
  await using own = await startNats()
  const open = () => natsBus({ ...quiet, servers: at(own.port), subject: 'kaha.test' })
  await using here = await open()
  await using there = await open()
  await own.kill()
  await until('the loss of both lines', () => !here.connected && !there.connected)
  here.say('terminals', ['changed', 'lost'])
  const missed = [nextHint(here, 'keys'), nextHint(there, 'keys'), nextHint(there, 'terminals')]
  await own.startAgain()
  await Promise.all(missed)
  await until('both lines', () => here.connected && there.connected)
  const arrived = nextHint(there, 'clock')
  here.hint('clock')
  await arrived
})

withNats('the first broker of a cluster that answers is taken', async () => {
  const closed = await startLineProxy({ port: 1 })
  await closed[Symbol.asyncDispose]()
  const both = at(0, {
    at: [
      { host: '127.0.0.1', port: closed.port },
      { host: '127.0.0.1', port: broker?.port ?? 0 },
    ],
  })
  await using bus = await natsBus({ ...quiet, servers: both, subject: 'kaha.test' })
  assert.equal(bus.connected, true)
})

const secret = 'a-secret-that-nobody-may-read'
const refusal = async (servers: NatsServers, subject = 'kaha.test'): Promise<string> => {
  try {
    await using _ = await natsBus({ ...quiet, servers, subject, connectMsMax: 300 })
  } catch (error) {
    assert.ok(error instanceof StartFault)
    assert.ok(!error.message.includes('\n'))
    assert.ok(!JSON.stringify([error.message, error.stack, String(error.cause)]).includes(secret))
    return error.message
  }
  return assert.fail('it started')
}

withNats(
  'a start without a broker is refused in one line that names the setting, the address and a way out',
  async () => {
    await using line = await startLineProxy({ host: '127.0.0.1', port: broker?.port ?? 0 })
    const { port } = line
    line.becomes('silent')
    assert.match(
      await refusal(at(port, { secret })),
      /KAHA_NATS_URL \(127\.0\.0\.1:\d+\) cannot be used: it does not answer; start it,/,
    )
    line.becomes('closed')
    assert.match(
      await refusal(at(port, { secret })),
      /cannot be used: .*unset KAHA_NATS_URL for all processes to go through the database/,
    )
    await line[Symbol.asyncDispose]()
    assert.match(await refusal(at(port, { secret })), /cannot be used: nothing listens there/)
    const nowhere = at(port, { at: [{ host: 'no-such-host.invalid', port }] })
    assert.match(
      await refusal(nowhere),
      /\(no-such-host\.invalid:\d+\) cannot be used: (there is no such host|its name)/,
    )
  },
)

withNats(
  'a broker that asks who we are is told by user and password, or by a token, and a wrong one is refused without being shown',
  async () => {
    await using users = await startNats(['--user', 'kaha', '--pass', secret])
    await using tokens = await startNats(['--auth', secret])
    for (const servers of [at(users.port, { user: 'kaha', secret }), at(tokens.port, { secret })]) {
      await using bus = await natsBus({ ...quiet, servers, subject: 'kaha.test' })
      assert.equal(bus.connected, true)
    }
    const wrong = `${secret}-and-more`
    for (const servers of [
      at(users.port, { user: 'kaha', secret: wrong }),
      at(tokens.port, { secret: wrong }),
      at(users.port),
    ])
      assert.match(await refusal(servers), /refuses us: put its user and password, or its token, into the address/)
  },
)

withNats(
  'a broker that does not let us publish or subscribe on our subjects, takes too little or has no TLS is refused for just that',
  async () => {
    await using held = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'kaha-nats-'))
    held.defer(() => rm(folder, { recursive: true }))
    const configured = async (text: string) => {
      const path = join(folder, randomUUID())
      await writeFile(path, text)
      return at(held.use(await startNats(['-c', path])).port, { user: 'kaha', secret })
    }
    const may = (publish: string, subscribe: string) =>
      configured(
        `authorization { users: [ { user: kaha, password: "${secret}", permissions: { publish: "${publish}", subscribe: "${subscribe}" } } ] }`,
      )
    assert.match(
      await refusal(await may('other.>', 'kaha.>')),
      /does not let us publish on kaha\.test\.\w+: allow its user both on kaha\.test\.\*/,
    )
    assert.match(
      await refusal(await may('kaha.>', 'other.>')),
      /does not let us subscribe on kaha\.test\.\w+: allow its user both/,
    )
    await using allowed = await natsBus({ ...quiet, servers: await may('kaha.>', 'kaha.>'), subject: 'kaha.test' })
    assert.equal(allowed.connected, true)
    assert.match(await refusal(await configured('max_payload: 4096')), /its max_payload is below 7900 bytes/)
    assert.match(await refusal(at(broker?.port ?? 0, { tls: true })), /cannot be used: .*tls/)
  },
)

test('a broker that lets us in and then says nothing is refused in time', async () => {
  await using mute = await startMuteNats()
  await assert.rejects(
    natsBus({ ...quiet, servers: at(mute.port), subject: 'kaha.test', connectMsMax: 300 }),
    (error) => error instanceof StartFault && /cannot be used: it does not answer; start it/.test(error.message),
  )
})
