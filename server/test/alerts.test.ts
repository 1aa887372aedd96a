import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { call } from './conformance/call.ts'
import { operations } from './conformance/operations.ts'
import { platform } from './platform.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8')

test('every series that an alert looks at is there before anything has happened, and no age is below 0', async (t) => {
  const p = await platform(t)
  // Requests are measured once there was one.
  await call(p.url, { path: '/readyz' })
  const { text } = await call(p.url, { path: '/metrics' })
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const looked = [...page.matchAll(/\b(kaha_\w+)(?:\{(\w+)=~?"([^"]+)"\})?/g)]
  assert.ok(looked.length > 20)
  for (const [whole, name = '', label, values] of looked) {
    // Read from /proc.
    if (name.endsWith('_fds') && process.platform !== 'linux') continue
    // A family may be named by what it counts.
    const ofName = series.filter((line) => new RegExp(`^${name}(?:_bucket|_sum|_count)?[{ ]`).test(line))
    assert.ok(ofName.length > 0, whole)
    for (const value of values?.split('|') ?? [])
      assert.ok(
        ofName.some((line) => line.includes(`${label}="${value}"`)),
        whole,
      )
  }
  const ages = series.filter((line) => /^kaha_delivery_oldest_\w+ /.test(line))
  assert.equal(ages.length, 3)
  for (const age of ages) assert.ok(Number(age.split(' ')[1]) >= 0, age)
})

test('requests that end in 500 or 503 are counted from the start, of each operation and of handshakes', async (t) => {
  const p = await platform(t)
  const { text } = await call(p.url, { path: '/metrics' })
  for (const operation of [...operations.map(({ id }) => id), 'healthz', 'readyz', 'terminals.connect'])
    for (const status of [500, 503])
      assert.ok(text.includes(`\nkaha_http_requests_total{operation="${operation}",status="${status}"} 0\n`), operation)
})

test('every loop of the program is counted from the start, of whatever room it is', async (t) => {
  const source = join(import.meta.dirname, '../src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  )
  const texts = files.map((file) => readFileSync(join(source, file), 'utf8'))
  const loops = texts.flatMap((text) => [...text.matchAll(/\bstartLoop\('([\w.]+)'/g)].map(([, name]) => name))
  assert.ok(loops.length > 15)
  const p = await platform(t)
  const { text } = await call(p.url, { path: '/metrics' })
  for (const name of loops) assert.match(text, new RegExp(`^kaha_loop_failures_total\\{loop="${name}"\\} 0$`, 'm'))
})
