import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeQrPh } from '@kaha/qrph'
import { createKahaQr } from '@kaha/sdk'
import { sealToken, tokenKey } from '@kaha/qrph/token'
import type pg from 'pg'
import type { NewCode } from '../../server/src/areas/qr/store.ts'
import type { KahaProcess } from '../../server/test/faults/kaha-process.ts'
import { atMost, ratioAtLeast, type Bound } from './bounds.ts'
import { startChild } from './child.ts'
import { compare, median, quantile, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { HttpLoad } from './http-load-child.ts'
import { callers } from './links.ts'
import type { Options } from './options.ts'
import { openPlace } from './place.ts'
import type { Drawn, QrLoop } from './qr-loop-child.ts'

const samples = 500
const pauseMs = 5
const pictures = 2_000

/**
 * Codes made over HTTP, against a bare loop of the same tokens, pictures and transactions; how soon one is made on an idle server, how
 * soon another request is answered beside many, and for how long a picture holds up everything else.
 */
export async function qrCreate({ rounds, size, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const server = await place.startServer()
  const account = accountOf(server)
  const origin = server.sandbox.base_url
  const sdk = createKahaQr({ ...account, qrUrl: `${origin}/qr` })
  const request = () => ({
    activationCode: account.activationCode,
    currency: 'PHP',
    amount: '98.00',
    merchantReferenceNumber: randomUUID(),
  })
  for (let warmUp = 0; warmUp < samples / 10; warmUp += 1) await sdk.create(request())
  const alone = await timesOf(() => sdk.create(request()), samples)
  const code = await storedCode(place.client)

  const key = await tokenKey(account.encryptionKey)
  const httpLoad = place.use(startChild('http-load-child.ts'))
  const qrLoop = place.use(startChild('qr-loop-child.ts'))
  let tokens: string[] = []
  const prepare = async (): Promise<void> => {
    tokens = await Promise.all(Array.from({ length: size }, () => sealToken(key, request())))
    await place.client.query('checkpoint')
  }
  const subject = {
    name: 'POST pay/qr',
    prepare,
    run: () =>
      httpLoad.call<Done>('run', {
        origin,
        method: 'POST',
        path: '/qr/v1/pay/qr',
        headers: {
          authorization: `Basic ${Buffer.from(`${account.secretKey}:`).toString('base64')}`,
          'content-type': 'application/json',
        },
        body: tokens.map((Token) => JSON.stringify({ Token })),
        keyed: false,
        status: 200,
        callers,
        seconds: Infinity,
      } satisfies HttpLoad),
    cpuMs: () => ({ server: cpuMsOf(server.pid), PostgreSQL: place.postgresCpuMs(), client: cpuMsOf(httpLoad.pid) }),
  }
  const { encryptionKey } = account
  const yardstick = {
    name: 'bare loop',
    prepare,
    run: () =>
      qrLoop.call<Done>('run', { target: place.target, encryptionKey, tokens, code, callers } satisfies QrLoop),
    cpuMs: () => ({ loop: cpuMsOf(qrLoop.pid), PostgreSQL: place.postgresCpuMs() }),
  }
  console.log(
    `  ${size.toLocaleString('en')} codes a side, ${callers} callers; PostgreSQL with fsync; log level info, to a file`,
  )
  const compared = await compare(subject, yardstick, { rounds })

  await prepare()
  let isOver = false
  const load = subject.run().finally(() => (isOver = true))
  const beside = await timesOf(
    () => sdk.ping(),
    Infinity,
    () => isOver,
  )
  await load
  // A process of its own, which has drawn none of a request yet: the first one counts too.
  const drawn = await place.use(startChild('qr-loop-child.ts')).call<Drawn[]>('draw', { texts: longestTexts(pictures) })
  console.log(`  codes one at a time: ${quantiles(alone)}`)
  console.log(`  pings beside ${callers} callers that make codes: ${quantiles(beside)}`)
  const pictureMs = drawn.map(({ ms }) => ms)
  console.log(`  a picture of the longest text: ${quantiles(pictureMs)}; the first ${pictureMs[0]?.toFixed(1)} ms`)
  return [
    ratioAtLeast('rate of the bare loop', compared, 0.6),
    atMost('a code on an idle server, p99', quantile(alone, 0.99), 25, ' ms'),
    atMost(`a ping beside ${callers} callers that make codes, p99`, quantile(beside, 0.99), 25, ' ms'),
    atMost('a picture, p99', quantile(pictureMs, 0.99), 10, ' ms'),
    atMost('CPU time of a picture, the longest', Math.max(...drawn.map(({ cpuMs }) => cpuMs)), 10, ' ms'),
  ]
}

function accountOf({ sandbox }: KahaProcess) {
  const [merchant] = sandbox.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) throw new Error('the seed has no merchant')
  const { secret_key: secretKey, encryption_key: encryptionKey } = merchant
  return { secretKey, encryptionKey, activationCode: branch.activation_code }
}

/** The code that the server made last, as its statement takes it: the yardstick writes it again. */
async function storedCode(client: pg.Client): Promise<NewCode> {
  const { rows } = await client.query<NewCode>(
    `select id, partner_id as "partnerId", merchant_id as "merchantId", branch_id as "branchId", reference, amount, currency, text,
            id as "correlationId", created_at as at, expires_at as "expiresAt"
       from qr.codes order by id desc limit 1`,
  )
  const [code] = rows
  if (code === undefined) throw new Error('the server has stored no code')
  return code
}

/** How long each of so many calls takes, or of those until it is over, in ms: one at a time with a pause after each. */
async function timesOf(call: () => Promise<unknown>, count: number, isOver = () => false): Promise<number[]> {
  const times: number[] = []
  while (times.length < count && !isOver()) {
    const begun = performance.now()
    await call()
    times.push(performance.now() - begun)
    await sleep(pauseMs)
  }
  return times
}

/** Different ones, as long as a code of this installation can be. */
const longestTexts = (count: number): string[] =>
  Array.from({ length: count }, (_, index) =>
    writeQrPh({
      initiation: 'dynamic',
      acquirer: 'TESTPHM1XXX',
      merchantId: 'M'.repeat(25),
      notifyFlags: '010',
      mcc: '5999',
      amount: '99999.99',
      name: 'Ñ'.repeat(25),
      city: 'MANILA',
      reference: String(index).padStart(25, '0'),
      terminal: 'Ñ'.repeat(25),
    }),
  )

const quantiles = (numbers: readonly number[]): string =>
  `p50 ${median(numbers).toFixed(2)} ms, p99 ${quantile(numbers, 0.99).toFixed(1)} ms, most ${Math.max(...numbers).toFixed(1)} ms`
