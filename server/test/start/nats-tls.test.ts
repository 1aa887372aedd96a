import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createAuthority, noCertificates } from '../certificates.ts'
import { noNats, startNats } from '../nats.ts'
import { finish, folder, start, stop } from './program.ts'

const home = folder({ after })

test('a broker with a certificate of an authority of our own is trusted through NODE_EXTRA_CA_CERTS, and refused without', async (t) => {
  const missing = noNats ?? noCertificates
  if (missing !== undefined) return t.skip(missing)
  await using authority = await createAuthority()
  const { cert, key } = authority.sign('localhost')
  await using broker = await startNats(['--tls', '--tlscert', cert, '--tlskey', key])
  const settings = { KAHA_NATS_URL: `tls://localhost:${broker.port}` }
  const dataDir = join(home, 'tls')
  const untrusted = await finish(t, { args: ['start', '--empty'], settings: { ...settings, KAHA_DATA_DIR: dataDir } })
  assert.equal(untrusted.code, 1)
  assert.match(
    untrusted.stderr,
    /kaha: the NATS broker of KAHA_NATS_URL \(localhost:\d+\) cannot be used: .*certificate/,
  )
  const program = await start(t, dataDir, {
    args: ['--empty'],
    settings: { ...settings, NODE_EXTRA_CA_CERTS: authority.ca },
  })
  const ready = (await (await fetch(`${program.sandbox.base_url}/readyz`)).json()) as { bus: boolean }
  assert.equal(ready.bus, true)
  assert.equal(await stop(program), 0)
})
