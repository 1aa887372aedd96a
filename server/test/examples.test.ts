import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { listFiles, root } from '../../scripts/source.ts'
import { platform } from './platform.ts'
import { runs } from './tour.ts'

const examples = ['create-a-link', 'pay-with-api', 'receive-webhooks']

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-examples-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** An example as a reader runs it in a folder, and how it ends. */
function example(t: TestContext, name: string, cwd: string, ...args: readonly string[]) {
  const program = runs(process.execPath, [join(root, `sdk/examples/${name}.ts`), ...args], { cwd, env: process.env })
  t.after(() => program[Symbol.asyncDispose]())
  let complaints = ''
  program.child.stderr?.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  const ended = once(program.child, 'close').then(([code]) => ({ code: code as unknown, complaints }))
  return { ...program, ended }
}

/** A platform, and the sandbox.json that names it. */
async function sandboxOf(t: TestContext) {
  const p = await platform(t)
  const folder = await folderOf(t)
  const file = join(folder, 'sandbox.json')
  await writeFile(file, JSON.stringify({ ...p.seed, base_url: p.url }))
  return { p, folder, file }
}

test('an example where there is no sandbox, or none that can be used, says so in a sentence and ends with 1', async (t) => {
  const folder = await folderOf(t)
  await writeFile(join(folder, 'empty.json'), '{"base_url":"http://127.0.0.1:9","merchants":[]}')
  const known = listFiles(['sdk/examples'], ['.ts']).map((path) => path.slice('sdk/examples/'.length, -'.ts'.length))
  assert.deepEqual(new Set(known), new Set([...examples, 'sandbox']))
  for (const name of examples) {
    assert.deepEqual(await example(t, name, folder).ended, {
      code: 1,
      complaints: '.kaha/sandbox.json is not there: start a sandbox with npm start, or name its sandbox.json\n',
    })
  }
  const { code, complaints } = await example(t, 'create-a-link', folder, 'empty.json').ended
  assert.deepEqual([code, complaints], [1, 'empty.json names no merchant with a branch\n'])
})

test('the examples that make a link and a payment do so at a sandbox', async (t) => {
  const { folder, file } = await sandboxOf(t)
  for (const [name, shown] of [
    ['create-a-link', / has 1 unpaid links\n$/],
    ['pay-with-api', /4242: SUCCEEDED, .*\n.* is SUCCEEDED, receipt \d+\nPaying again: 409 INVALID_STATE\n$/],
  ] as const) {
    const { ended, output } = example(t, name, folder, file)
    assert.deepEqual(await ended, { code: 0, complaints: '' })
    assert.match(output(), shown)
  }
})

test('the example of a payment is run again for an order that is paid, and ends as before', async (t) => {
  const { folder, file } = await sandboxOf(t)
  const ends = /is SUCCEEDED, receipt \d+\nPaying again: 409 INVALID_STATE\n$/
  const run = async () => {
    const { ended, output } = example(t, 'pay-with-api', folder, file, '1001')
    assert.deepEqual(await ended, { code: 0, complaints: '' })
    assert.match(output(), ends)
    return output()
  }
  const first = await run()
  assert.match(first, /^0002: DECLINED, .*\n4242: SUCCEEDED, /)
  assert.equal(await run(), first.slice(first.indexOf('Intent ')), 'nothing was left to pay')
})

test('the example of a receiver verifies what arrives, and deletes its endpoint when it is stopped', async (t) => {
  const { p, folder, file } = await sandboxOf(t)
  const endpoints = async () => (await p.sdk.webhooks.listEndpoints()).data.length
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, until, output, ended } = example(t, 'receive-webhooks', folder, file)
    await until(() => output().includes('Waiting at '), 'Waiting at')
    assert.equal(await endpoints(), 1)
    await p.pay()
    await until(() => output().includes('payment.succeeded: 9800 PHP'), 'payment.succeeded')
    child.kill(signal)
    assert.deepEqual(await ended, { code: 0, complaints: '' })
    assert.equal(await endpoints(), 0)
  }
})
