// The bare loop of codes: what the server does for one that nothing can spare, and nothing else. It opens the request's token, writes the
// code by the server's own statement, draws the picture and seals the answer.
import { randomUUID } from 'node:crypto'
import { openToken, sealToken, tokenKey, type TokenKey } from '@kaha/qrph/token'
import { qrPng, readyQrPng } from '@kaha/qrph/image'
import pg from 'pg'
import { qrStore, type NewCode } from '../../server/src/areas/qr/store.ts'
import { connectionConfig, type Queries } from '../../server/src/kernel/db.ts'
import { newId } from '../../server/src/kernel/ids.ts'
import { serve } from './child.ts'
import type { Done } from './compare.ts'
import type { Target } from './place.ts'

export interface QrLoop {
  readonly target: Target
  readonly encryptionKey: string
  readonly tokens: readonly string[]
  /** One that the server has written: every token is answered with it again, under an id and a reference of its own. */
  readonly code: NewCode
  readonly callers: number
}

export interface QrOne extends Pick<QrLoop, 'target' | 'encryptionKey' | 'code'> {
  readonly token: string
}

/** Nothing else happens in the process meanwhile. The CPU time leaves out what other processes do in between; Linux counts it in ticks of 4 ms. */
export interface Drawn {
  readonly ms: number
  readonly cpuMs: number
}

const held = new AsyncDisposableStack()
const clients: pg.Client[] = []

async function connectionsTo(target: Target, count: number): Promise<readonly pg.Client[]> {
  while (clients.length < count) {
    const client = new pg.Client(connectionConfig(target))
    await client.connect()
    held.defer(() => client.end())
    clients.push(client)
  }
  return clients.slice(0, count)
}

const queriesOn = (client: pg.Client): Queries => ({
  async run<Row extends object>({ name, text }: { name: string; text: string }, values: readonly unknown[]) {
    return (await client.query<Row>({ name, text, values: [...values] })).rows
  },
})

async function run({ target, encryptionKey, tokens, code, callers }: QrLoop): Promise<Done> {
  const connections = await connectionsTo(target, callers)
  const key = await tokenKey(encryptionKey)
  const left = [...tokens]
  const begun = performance.now()
  const caller = async (on: Queries): Promise<void> => {
    for (let token = left.pop(); token !== undefined; token = left.pop()) await make(on, key, token, code)
  }
  await Promise.all(connections.map((client) => caller(queriesOn(client))))
  return { count: tokens.length, seconds: (performance.now() - begun) / 1_000 }
}

/** The same of one, in ms. */
async function one({ target, encryptionKey, token, code }: QrOne): Promise<number> {
  const [client] = await connectionsTo(target, 1)
  if (client === undefined) throw new Error('there is no connection')
  const key = await tokenKey(encryptionKey)
  const begun = performance.now()
  await make(queriesOn(client), key, token, code)
  return performance.now() - begun
}

async function make(on: Queries, key: TokenKey, token: string, code: NewCode): Promise<void> {
  await openToken(key, token)
  const at = new Date()
  const id = newId(at)
  const fresh = { ...code, id, reference: randomUUID(), correlationId: id, at }
  if (!(await qrStore.insertCode(on, fresh))) throw new Error('the reference was there already')
  const { text, expiresAt } = fresh
  await sealToken(key, { id, qrBody: qrPng(text).toString('base64'), qrText: text, expiresAt })
}

/** Each picture by itself, in a process that has made itself ready as the server does. */
async function draw({ texts }: { readonly texts: readonly string[] }): Promise<Drawn[]> {
  readyQrPng()
  return texts.map((text) => {
    const usedBefore = process.threadCpuUsage()
    const begun = performance.now()
    qrPng(text)
    const ms = performance.now() - begun
    const { user, system } = process.threadCpuUsage(usedBefore)
    return { ms, cpuMs: (user + system) / 1_000 }
  })
}

serve({ run, one, draw }, held)
