import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { noNats, startNats } from '../nats.ts'
import { finish, folder, freePort, start, stop } from './program.ts'

const home = folder({ after })

test('a NATS broker that is not there ends the start with one line, and what its address holds beside the host is not shown', async () => {
  const port = await freePort()
  const { code, stdout, stderr } = await finish(
    { after },
    {
      args: ['start', '--empty'],
      settings: { KAHA_DATA_DIR: join(home, 'refused'), KAHA_NATS_URL: `nats://kaha:hunter2@127.0.0.1:${port}` },
    },
  )
  assert.deepEqual([code, stdout], [1, ''], stderr)
  assert.equal(
    stderr.replaceAll(/^\{"level".*\}\n/gm, ''),
    `kaha: the NATS broker of KAHA_NATS_URL (127.0.0.1:${port}) cannot be used: nothing listens there; ` +
      'start it, correct the address, or unset KAHA_NATS_URL for all processes to go through the database\n',
  )
  assert.ok(!stderr.includes('hunter2'), 'no password is shown')
})

test('with a NATS broker a start is as any other, and so is a stop', async (t) => {
  if (noNats !== undefined) return t.skip(noNats)
  await using broker = await startNats()
  const program = await start(t, join(home, 'data'), {
    args: ['--empty'],
    settings: { KAHA_NATS_URL: broker.url },
  })
  const ready = (await (await fetch(`${program.sandbox.base_url}/readyz`)).json()) as { bus: boolean }
  assert.equal(ready.bus, true)
  assert.equal(await stop(program), 0)
})
