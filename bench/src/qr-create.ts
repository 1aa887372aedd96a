import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeQrPh } from '@kaha/qrph'
import { sealToken, tokenKey } from '@kaha/qrph/token'
import type pg from 'pg'
import type { NewCode } from '../../server/src/areas/qr/store.ts'
import type { KahaProcess } from '../../server/test/faults/kaha-process.ts'
import { atMost, ratioAtLeast, type Bound } from './bounds.ts'
import { startChild } from './child.ts'
import { compare, quantile, quantiles, type Done } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { HttpLoad } from './http-load-child.ts'
import { callers } from './links.ts'
import type { Options } from './options.ts'
import { openPlace, type Place } from './place.ts'
import type { Drawn, QrLoop, QrOne } from './qr-loop-child.ts'

const path = '/qr/v1/pay/qr'
const warmUps = 200
const samples = 500
const pauseMs = 5
const pictures = 2_000

/**
 * Codes made over HTTP, against a bare loop of the same tokens, pictures and transactions; how soon one is made on an idle server, how
 * soon another request is answered beside many, and for how long a picture holds up everything else.
 */
export async function qrCreate(options: Options): Promise<Bound[]> {
  await using place = await openPlace(options)
  const server = await place.startServer()
  const account = await accountOf(server)
  const { alone, bare } = await madeAlone(place, server, account)
  const { subject, yardstick } = await sidesOf(place, server, account, options.size)
  console.log(
    `  ${options.size.toLocaleString('en')} codes a side, ${callers} callers; PostgreSQL with fsync; log level info, to a file`,
  )
  const compared = await compare(subject, yardstick, options)

  await subject.prepare()
  const load = subject.run()
  const beside = await timesOf(() => ping(server), Infinity, load)
  // A process of its own, which has drawn none of a request yet: the first one counts too.
  const drawn = await place.use(startChild('qr-loop-child.ts')).call<Drawn[]>('draw', { texts: longestTexts(pictures) })
  console.log(`  codes one at a time: ${quantiles(alone, 2)}; without the server: ${quantiles(bare, 2)}`)
  console.log(`  pings beside ${callers} callers that make codes: ${quantiles(beside, 2)}`)
  const pictureMs = drawn.map(({ ms }) => ms)
  console.log(`  a picture of the longest text: ${quantiles(pictureMs, 2)}; the first ${pictureMs[0]?.toFixed(1)} ms`)
  return [
    ratioAtLeast('rate of the bare loop', compared, 0.6),
    atMost('a code on an idle server, p99', quantile(alone, 0.99), 25, ' ms'),
    atMost(`a ping beside ${callers} callers that make codes, p99`, quantile(beside, 0.99), 25, ' ms'),
    atMost('a picture, p99', quantile(pictureMs, 0.99), 10, ' ms'),
    atMost('CPU time of a picture, the longest', Math.max(...drawn.map(({ cpuMs }) => cpuMs)), 10, ' ms'),
  ]
}

interface Account {
  readonly headers: Readonly<Record<string, string>>
  readonly encryptionKey: string
  /** So many tokens of requests, each for another code. */
  sealed(count: number): Promise<string[]>
}

async function accountOf({ sandbox }: KahaProcess): Promise<Account> {
  const [merchant] = sandbox.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) throw new Error('the seed has no merchant')
  const { secret_key: secretKey, encryption_key: encryptionKey } = merchant
  const key = await tokenKey(encryptionKey)
  const order = { activationCode: branch.activation_code, currency: 'PHP', amount: '98.00' }
  return {
    headers: {
      authorization: `Basic ${Buffer.from(`${secretKey}:`).toString('base64')}`,
      'content-type': 'application/json',
    },
    encryptionKey,
    sealed: (count) =>
      Promise.all(
        Array.from({ length: count }, () => sealToken(key, { ...order, merchantReferenceNumber: randomUUID() })),
      ),
  }
}

const bodyOf = (Token: string): string => JSON.stringify({ Token })

/** Codes one at a time in ms, from the request to the answer, and in turn with them the same without a server. */
async function madeAlone({ target, client, use }: Place, { sandbox }: KahaProcess, account: Account) {
  const { headers, encryptionKey, sealed } = account
  // What the merchant encrypts and decrypts is not the server's.
  const tokens = await sealed(2 * (warmUps + samples))
  const next = (): string => tokens.pop() ?? ''
  const create = () => answered(`${sandbox.base_url}${path}`, { method: 'POST', headers, body: bodyOf(next()) })
  await create()
  const code = await storedCode(client)
  const loop = use(startChild('qr-loop-child.ts'))
  const alone: number[] = []
  const bare: number[] = []
  while (alone.length < warmUps + samples - 1) {
    alone.push(...(await timesOf(create, 1)))
    bare.push(await loop.call<number>('one', { target, encryptionKey, code, token: next() } satisfies QrOne))
  }
  return { alone: alone.slice(warmUps), bare: bare.slice(warmUps) }
}

const ping = ({ sandbox }: KahaProcess): Promise<void> => answered(`${sandbox.base_url}/qr/ping`)

async function answered(url: string, request?: RequestInit): Promise<void> {
  const answer = await fetch(url, request)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${text}`)
}

async function sidesOf(place: Place, server: KahaProcess, { headers, encryptionKey, sealed }: Account, size: number) {
  const code = await storedCode(place.client)
  const httpLoad = place.use(startChild('http-load-child.ts'))
  const qrLoop = place.use(startChild('qr-loop-child.ts'))
  let tokens: string[] = []
  const prepare = async (): Promise<void> => {
    tokens = await sealed(size)
    await place.client.query('checkpoint')
  }
  return {
    subject: {
      name: 'POST pay/qr',
      prepare,
      run: () =>
        httpLoad.call<Done>('run', {
          origin: server.sandbox.base_url,
          method: 'POST',
          path,
          headers,
          body: tokens.map(bodyOf),
          keyed: false,
          status: 200,
          callers,
          seconds: Infinity,
        } satisfies HttpLoad),
      cpuMs: () => ({ server: cpuMsOf(server.pid), PostgreSQL: place.postgresCpuMs(), client: cpuMsOf(httpLoad.pid) }),
    },
    yardstick: {
      name: 'bare loop',
      prepare,
      run: () => {
        const { target } = place
        return qrLoop.call<Done>('run', { target, encryptionKey, tokens, code, callers } satisfies QrLoop)
      },
      cpuMs: () => ({ loop: cpuMsOf(qrLoop.pid), PostgreSQL: place.postgresCpuMs() }),
    },
  }
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

/** How long each of so many calls takes, or of those until something else is over, in ms: one at a time with a pause after each. */
async function timesOf(call: () => Promise<unknown>, count: number, until?: Promise<unknown>): Promise<number[]> {
  const state = { isOver: false }
  const over = until?.finally(() => (state.isOver = true))
  const times: number[] = []
  while (times.length < count && !state.isOver) {
    const begun = performance.now()
    await call()
    times.push(performance.now() - begun)
    await sleep(pauseMs)
  }
  await over
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
