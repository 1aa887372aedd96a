import type { Addresses } from '../addresses.ts'
import { settings } from '../config.ts'
import type { Seed } from '../sandbox/seed.ts'

/** One line for the person at the terminal. */
export const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** What a person needs who has just started a sandbox. */
export function greet({
  addresses,
  seed,
  link,
  dataDir,
}: {
  addresses: Addresses
  seed: Seed
  link: string | undefined
  dataDir: string
}): void {
  const [merchant] = seed.merchants
  const keys = seed.merchants.map(({ name, secret_key }) => `  ${name.padEnd(24)} ${secret_key}`)
  const tryIt =
    link === undefined
      ? ['Make a payment link:']
      : [
          'Pay this link in your browser, with card 4242 4242 4242 4242, any date to come and any CVC:',
          '',
          `  ${link}`,
          '',
          'Or make one of your own:',
        ]
  say(
    [
      '',
      `Kaha is running: ${addresses.base}`,
      '',
      `  ${'Partner'.padEnd(24)} ${seed.partner.secret_key}`,
      ...keys,
      '',
      ...tryIt,
      '',
      `  curl ${addresses.base}/ecom/v1/payment-links \\`,
      `    -H 'X-API-Key: ${merchant?.branches[0]?.secret_key}' -H 'Idempotency-Key: my-first-link' \\`,
      `    -H 'Content-Type: application/json' \\`,
      `    -d '{"type":"one_time","currency":"PHP","amount":9800,"line_items":[{"sku":"MUG","name":"Mug","unit_price":9800,"quantity":1}]}'`,
      '',
      `Everything a client needs is in ${dataDir}/sandbox.json. Ctrl-C stops.`,
      '',
    ].join('\n'),
  )
}

export const startHelp = (): string =>
  [
    'kaha start [--empty]',
    '',
    'Runs Kaha until Ctrl-C: starts the embedded database, brings its schema up to date, and serves. A new sandbox is seeded and',
    'lives through a small story; --empty skips the story.',
    '',
    'Settings are environment variables:',
    '',
    ...settings.map(({ name, default: otherwise, says }) => `  ${name.padEnd(26)} ${says} (${otherwise})`),
    '',
  ].join('\n')

export const help = (): string =>
  [
    'kaha: a payment platform that you run yourself',
    '',
    '  kaha start      run it',
    '  kaha migrate    bring the schema of the database up to date',
    '  kaha keys       list, issue and revoke secret keys',
    '',
    '--help after each tells more.',
    '',
  ].join('\n')
