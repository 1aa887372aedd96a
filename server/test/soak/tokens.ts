// Opens altered tokens of area E, and sends them to a server: none may be believed, and no refusal may tell its cause.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sealToken, tokenKey } from '@kaha/qrph/token'
import { alteredTokens, openAltered } from '../../../qrph/test/altered-tokens.ts'
import { basic, qrPath } from '../conformance/qr-account.ts'
import { startKahaProcess } from '../faults/kaha-process.ts'
import { soakArguments } from '../faults/soak-arguments.ts'

const tokensOfRound = 10_000
const callers = 8

const { rounds, seed } = soakArguments({ rounds: 5 })
console.log(`${rounds} rounds of ${tokensOfRound} altered tokens, seed ${seed}`)
const started = performance.now()
for (let round = 0; round < rounds; round += 1) {
  const { refused, kinds } = await openAltered(tokensOfRound, seed + round)
  console.log(`  seed ${seed + round}: ${refused} refused, ${kinds.size} kinds of alteration`)
}
const seconds = (performance.now() - started) / 1_000
console.log(`All refused alike; ${Math.round((rounds * tokensOfRound) / seconds)} a second`)

await using held = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'kaha-soak-'))
held.defer(() => rm(folder, { recursive: true, force: true }))
const { sandbox } = held.use(await startKahaProcess({ dataDir: join(folder, 'data') }))
const [merchant] = sandbox.merchants
assert.ok(merchant)
const headers = { authorization: basic(merchant.secret_key), 'content-type': 'application/json' }
const token = await sealToken(await tokenKey(merchant.encryption_key), { currency: 'PHP', amount: '98.00' })
const texts = new Set<string>()

/** What JSON cannot carry never gets to be a token. */
const isCarried = (one: string): boolean => one.isWellFormed() && !one.includes('\0')

async function send(left: string[], from: number): Promise<void> {
  for (let Token = left.pop(); Token !== undefined; Token = left.pop()) {
    const answer = await fetch(`${sandbox.base_url}${qrPath}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ Token }),
    })
    const body = (await answer.json()) as { code: string; error: string }
    const wanted = isCarried(Token) ? '20000009' : '20000002'
    assert.deepEqual([answer.status, body.code], [400, wanted], `seed ${from}: ${JSON.stringify(Token)}`)
    if (isCarried(Token)) texts.add(body.error)
  }
}

for (let round = 0; round < rounds; round += 1) {
  const tokens = await alteredTokens(token, tokensOfRound, seed + round)
  await Promise.all(Array.from({ length: callers }, () => send(tokens, seed + round)))
  console.log(`  seed ${seed + round}: the server refused ${tokensOfRound}, each with 400`)
}
assert.equal(texts.size, 1)
console.log('All refused by the server in the same words')
