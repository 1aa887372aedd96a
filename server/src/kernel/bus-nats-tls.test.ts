import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { nextHint } from '../../test/bus-suite.ts'
import { createAuthority, noCertificates } from '../../test/certificates.ts'
import { noNats, startNats } from '../../test/nats.ts'
import { until } from '../../test/until.ts'
import { natsBus, type NatsServers } from './bus-nats.ts'
import { StartFault } from './fault.ts'

const missing = noNats ?? noCertificates
const authority = missing === undefined ? await createAuthority() : undefined
after(() => authority?.[Symbol.asyncDispose]())

const at = (port: number, who: Partial<NatsServers> = {}): NatsServers => ({
  at: [{ host: 'localhost', port }],
  tls: true,
  user: null,
  secret: null,
  ...who,
})
const quiet = { debounceMs: 1, retryMs: 5, subject: 'kaha.test', onLost: () => {} }

/** A broker that takes nobody without TLS, with a certificate of this name. */
const brokerOf = async (host: string) => {
  const { cert, key } = authority?.sign(host) ?? { cert: '', key: '' }
  return startNats(['--tls', '--tlscert', cert, '--tlskey', key])
}
const refusal = async (servers: NatsServers): Promise<string> => {
  try {
    await using _ = await natsBus({ ...quiet, servers, connectMsMax: 2_000 })
  } catch (error) {
    assert.ok(error instanceof StartFault)
    return error.message
  }
  return assert.fail('it started')
}
const withTls = (promise: string, check: () => Promise<void>) =>
  void test(promise, (t) => (missing === undefined ? check() : t.skip(missing)))

withTls(
  'a broker whose certificate is of an authority that nobody knows is refused, with and without tls://',
  async () => {
    await using broker = await brokerOf('localhost')
    for (const tls of [true, false])
      assert.match(await refusal(at(broker.port, { tls })), /cannot be used: .*certificate/i)
  },
)

withTls(
  'over TLS, with an authority of our own that is trusted, processes hear each other, also after kill -9 of the broker',
  async () => {
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, readFileSync(authority?.ca ?? '', 'utf8')])
    try {
      await using broker = await brokerOf('localhost')
      const open = () => natsBus({ ...quiet, servers: at(broker.port) })
      await using here = await open()
      await using there = await open()
      const hinted = nextHint(there, 'keys')
      here.hint('keys')
      await hinted
      const said: (readonly string[])[] = []
      there.hear('terminals', (words) => said.push(words))
      here.say('terminals', ['changed', 'one'])
      await until('the words', () => said.length > 0)
      assert.deepEqual(said, [['changed', 'one']])

      await broker.kill()
      await until('the loss of both lines', () => !here.connected && !there.connected)
      await broker.startAgain()
      await until('both lines', () => here.connected && there.connected)
      const again = nextHint(here, 'clock')
      there.hint('clock')
      await again

      // Trusted, and somebody else.
      await using other = await brokerOf('broker.example')
      assert.match(await refusal(at(other.port)), /cannot be used: .*(altnames|does not match)/)
    } finally {
      setDefaultCACertificates(before)
    }
  },
)
