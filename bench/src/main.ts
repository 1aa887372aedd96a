// `npm run bench -- NAME`: measures what was promised, each beside a yardstick in the same run.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { tell, type Bound } from './bounds.ts'
import { createLink } from './create-link.ts'
import { deliver } from './deliver.ts'
import { listLinks } from './list-links.ts'
import type { Options } from './options.ts'
import { start } from './start.ts'

const benchmarks: Readonly<Record<string, { says: string; run(options: Options): Promise<Bound[]> }>> = {
  'create-link': { says: 'payment links created over HTTP, against a bare pg loop', run: createLink },
  'list-links': { says: 'a page of 20 links, against a bare Fastify route with the same query', run: listLinks },
  deliver: { says: 'events delivered, against a bare undici loop; and the latency of one', run: deliver },
  start: { says: 'start with existing data, and memory at rest', run: start },
}

const usage = `npm run bench -- NAME [options]

${Object.entries(benchmarks)
  .map(([name, { says }]) => `  ${name.padEnd(12)} ${says}`)
  .join('\n')}
  all          every one of them

  --rounds N     how often both sides are measured (5)
  --seconds S    how long each time (5)
  --no-bound     exit code 0 whatever comes out
  --profile DIR  leave CPU profiles of the measured server there`

process.exitCode = await main()

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      'no-bound': { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const [name] = positionals
  const names = name === 'all' ? Object.keys(benchmarks) : [name ?? '']
  const options: Options = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    profileDir: values.profile === undefined ? undefined : resolve(values.profile),
  }
  const fits = options.rounds >= 1 && options.seconds > 0
  if (!fits || names.some((one) => benchmarks[one] === undefined)) {
    console.log(usage)
    return name === undefined && fits ? 0 : 1
  }
  const bounds: Bound[] = []
  for (const one of names) {
    console.log(`${one}: ${benchmarks[one]?.says}`)
    const found = (await benchmarks[one]?.run(options)) ?? []
    found.forEach(tell)
    bounds.push(...found)
  }
  return values['no-bound'] || bounds.every(({ holds }) => holds) ? 0 : 1
}
