import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noNats, startNats } from '../nats.ts'
import { platform } from '../platform.ts'
import { result, shopOf, wire } from '../till.ts'
import { until } from '../until.ts'

const secret = 'a-token-that-nobody-may-read'

test('while the broker is away two processes go on, find by themselves what nobody tells them, and say so once', async (t) => {
  if (noNats !== undefined) return t.skip(noNats)
  await using broker = await startNats(['--auth', secret])
  const settings = { KAHA_NATS_URL: broker.url.replace('//', `//${secret}@`) }
  const p = await platform(t, { settings })
  const other = await p.another(settings)
  await using shop = shopOf(p)

  const ready = async () => {
    const answer = await fetch(`${p.url}/readyz`)
    return { status: answer.status, ...((await answer.json()) as { bus: boolean }) }
  }
  const figure = async (name: string) => {
    const text = await (await fetch(`${p.url}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
  const said = (words: string) => p.logged.filter((line) => line.includes(words)).length

  await using terminal = await wire(other.localUrl, shop.first, { deviceId: shop.first.device_id })
  const pay = async () => {
    const paying = shop.pay()
    terminal.send(result((await terminal.next('payment')).transactionId))
    return (await paying).json.status
  }
  assert.equal(await pay(), 'SUCCESS')
  assert.deepEqual([(await ready()).bus, await figure('kaha_bus_connected')], [true, 1])

  await broker.kill()
  await until('the loss of the broker', () => !p.kaha.bus.connected && !other.bus.connected)
  const { status, bus } = await ready()
  assert.deepEqual([status, bus], [200, false])
  // Nobody can tell the process with the terminal that there is a payment: known not to have reached it.
  const lost = shop.pay()
  await p.advance(10)
  assert.deepEqual(await lost.then(({ status: code, json }) => [code, json.error.code]), [
    502,
    'TERMINAL_CONNECTION_ERROR',
  ])
  // Clocks follow their row.
  await until('the other clock', () => Math.abs(other.clock.offsetMs - p.kaha.clock.offsetMs) < 1)
  // A payment of the e-commerce API is delivered without a word between processes.
  assert.equal((await p.pay()).status, 'SUCCEEDED')

  await broker.startAgain()
  await until('the broker', () => p.kaha.bus.connected && other.bus.connected)
  assert.equal(await pay(), 'SUCCESS')
  assert.deepEqual([await figure('kaha_bus_connected'), await figure('kaha_bus_outages')], [1, 1])
  await until('the log', () => said('the line between processes is back') === 2)
  assert.equal(said('the line between processes broke'), 2)
  assert.equal(said(secret), 0)
})
