import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'undici'
import { atLeast, atMost, type Bound } from './bounds.ts'
import { median } from './compare.ts'
import { cpuMsOf } from './cpu.ts'
import type { Options } from './options.ts'
import { openPlace } from './place.ts'
import { fillReport } from './report-rows.ts'

const restSeconds = 5
const lookMs = 10
const lineEnd = 10

/** All transactions of a partner as CSV: how many rows a second, and how much memory more than at rest. */
export async function reportCsv({ rounds, size, profileDir }: Options): Promise<Bound[]> {
  await using place = await openPlace({ profileDir })
  const { readers } = await fillReport(place.client, size)
  const server = await place.startServer()
  const partner = readers.find(({ level }) => level === 'partner')
  if (partner === undefined) throw new Error('there is no partner')
  const client = new Client(server.sandbox.base_url)
  place.use({ [Symbol.asyncDispose]: () => client.close() })
  await sleep(restSeconds * 1_000)
  const restMib = residentMib(server.pid)
  let mostMib = restMib
  const looking = setInterval(() => (mostMib = Math.max(mostMib, residentMib(server.pid))), lookMs)
  const rates: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const cpuMs = { server: cpuMsOf(server.pid), postgres: place.postgresCpuMs() }
    const begun = performance.now()
    const rows = await exported(client, partner.key)
    const seconds = (performance.now() - begun) / 1_000
    rates.push(rows / seconds)
    console.log(
      `  round ${round}: ${rows.toLocaleString('en')} rows in ${seconds.toFixed(1)} s, ${Math.round(rows / seconds).toLocaleString('en')}/s; CPU for ` +
        `1,000: server ${(((cpuMsOf(server.pid) - cpuMs.server) * 1_000) / rows).toFixed(1)} ms, ` +
        `PostgreSQL ${(((place.postgresCpuMs() - cpuMs.postgres) * 1_000) / rows).toFixed(1)} ms; most memory so far ${mostMib.toFixed(0)} MiB`,
    )
  }
  clearInterval(looking)
  console.log(`  memory of the server process: ${restMib.toFixed(0)} MiB at rest, ${mostMib.toFixed(0)} MiB at most`)
  return [
    atLeast('CSV export', median(rates), 50_000, ' rows/s'),
    atMost('memory of the server process over its rest', mostMib - restMib, 64, ' MiB'),
  ]
}

/** Reads an export to its end and resolves to how many rows it had. */
async function exported(client: Client, key: string): Promise<number> {
  const { statusCode, body } = await client.request({
    method: 'GET',
    path: '/reports/v1/transactions',
    headers: { 'x-api-key': key, accept: 'text/csv' },
  })
  if (statusCode !== 200) throw new Error(`the export was answered ${await body.text()}`)
  let lines = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, at + 1)) lines += 1
  }
  return lines - 1
}

/** What a process has in memory now. Source: proc(5), statm counts pages of 4 KiB. */
function residentMib(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) / 256
}
