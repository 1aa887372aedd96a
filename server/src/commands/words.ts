import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import type { Addresses } from '../addresses.ts'
import { roles as allRoles, settings, type Config, type Role } from '../config.ts'
import type { Seed } from '../sandbox/seed.ts'

// Controls, ends of lines, and marks that turn the direction of what follows.
const steering = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const everySteering = new RegExp(steering, 'gu')

/** Whether a text, where it is shown, does something to the screen or to what stands beside it. */
export const steers = (text: string): boolean => steering.test(text)

/** What others have said, as text that does nothing to a screen. */
export const shown = (text: string): string => text.replaceAll(everySteering, '\ufffd')

/** One line for the person at the terminal about something that is wrong. */
export const warn = (line: string): void =>
  void process.stderr.write(`kaha: ${shown(line.replaceAll(/\p{Cc}+/gu, ' '))}\n`)

/** One line for the person at the terminal. */
export const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** How many of what commands list they show at once: what is said of them is held in memory. */
export const listedMax = 100_000

/** Says where a list ends that may go on. */
export function tellEnd(rows: readonly unknown[], rowsMax: number, wayOut: string): void {
  if (rows.length >= rowsMax)
    warn(`the list ends after ${rowsMax.toLocaleString('en')}, and there may be more: ${wayOut}`)
}

/** Which Kaha this is, as its package says. */
export function version(): string {
  const about = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string }
  return about.version
}

/** Of a name that begins as settings do. */
export const noSetting = (name: string): string => `there is no setting ${name}; kaha start --help lists what there is`

/** For an empty list: what fills it. Only a sandbox has something after its first start. */
export const noneYet = ({ mode }: Pick<Config, 'mode'>, what: string, command: string): string =>
  mode === 'sandbox'
    ? `There are no ${what} yet: the first \`kaha start\` of a sandbox makes some, and \`${command}\`.`
    : `There are no ${what} yet: \`${command}\` makes some.`

/** What this start has played of the story of a new sandbox. */
export interface Story {
  readonly order: boolean
  readonly sale: boolean
  /** A terminal is without its line, and the end of that is yet to come. */
  readonly drop: boolean
  readonly code: boolean
}

export interface Greeting {
  readonly addresses: Addresses
  readonly roles: readonly Role[]
  readonly seed: Seed
  /** One that links may be made in. */
  readonly currency: string
  /** A link to pay in the browser; none when the sandbox is to stay empty. */
  readonly link: string | undefined
  /** What becomes of the link is told in this window, by webhooks to the inbox. */
  readonly inboxHears: boolean
  readonly story: Story
  readonly dataDir: string
  /** Where the log goes when it is not on standard error. */
  readonly logPath: string | undefined
}

/** Of the story what was played, a line each. */
export function tale({ order, sale, drop, code }: Story, inboxHears: boolean): string[] {
  const webhooks = inboxHears ? ', both webhooks arrived' : ''
  const both = 'One sale was paid at a virtual terminal, and one QR Ph code by a simulated bank.'
  const lines: readonly (readonly [isTold: boolean, line: string])[] = [
    [order, `A first order has been paid already: one card was refused, the next one went through${webhooks}.`],
    [sale && code, both],
    [sale && !code, 'One sale was paid at a virtual terminal.'],
    [code && !sale, 'One QR Ph code was paid by a simulated bank.'],
    [
      drop,
      `${sale ? 'Another' : 'A'} terminal lost its line in mid-payment. It is back in 75 s, too late, and what it approved is voided.`,
    ],
  ]
  return lines.flatMap(([isTold, line]) => (isTold ? line : []))
}

/** What this very process does, and where, for whoever runs several. */
export const ofProcess = (roles: readonly Role[], { listening }: Pick<Addresses, 'listening'>): string =>
  `This process has the role${roles.length === 1 ? '' : 's'} ${roles.join(', ')}, and listens on ${listening}.`

/** What a person needs who has just started a sandbox: what to try, in the order in which it is tried. */
export function greet(greeting: Greeting): void {
  const { addresses, roles, seed, currency, link, inboxHears, story, dataDir, logPath } = greeting
  const { base } = addresses
  const branchKey = seed.merchants[0]?.branches[0]?.secret_key
  const names = [`${seed.partner.name} (partner)`, ...seed.merchants.map(({ name }) => name)]
  const keys = [seed.partner, ...seed.merchants].map(({ secret_key }) => secret_key)
  const width = Math.max(...names.map(({ length }) => length))
  const bold = (text: string) => styleText('bold', text)
  const whose = roles.length === allRoles.length ? [] : [ofProcess(roles, addresses)]
  const ofLog = logPath === undefined ? [] : [`  Log            ${logPath}`]
  // Links, keys and pages are for the processes that answer there.
  if (!roles.includes('api'))
    return say(['', bold('Kaha is running'), ...whose, ...ofLog, '', 'Ctrl-C stops.', ''].join('\n'))
  say(
    [
      '',
      bold(`Kaha is running on ${base}`),
      ...whose,
      ...tale(story, inboxHears),
      '',
      ...(link === undefined
        ? ['Make a payment link:']
        : [
            'Pay this link in your browser, with card 4242 4242 4242 4242, any date to come and any CVC:',
            '',
            `  ${bold(link)}`,
            '',
            `${inboxHears ? 'The webhook of your payment arrives here, in this window. ' : ''}Make a link of your own:`,
          ]),
      '',
      `  curl ${base}/ecom/v1/payment-links \\`,
      `    -H 'X-API-Key: ${branchKey}' -H 'Idempotency-Key: my-first-link' \\`,
      `    -H 'Content-Type: application/json' \\`,
      `    -d '{"type":"one_time","currency":"${currency}","amount":9800,"line_items":[{"sku":"MUG","name":"Mug","unit_price":9800,"quantity":1}]}'`,
      '',
      'Secret keys:',
      '',
      ...names.map((name, index) => `  ${name.padEnd(width)}  ${keys[index]}`),
      '',
      `  Bank app       ${addresses.sandbox}/bank (pays QR Ph codes, from a text or a picture)`,
      `  Documentation  ${base}/docs`,
      `  For clients    ${join(dataDir, 'sandbox.json')} (addresses and all keys)`,
      ...ofLog,
      '',
      'Ctrl-C stops.',
      '',
    ].join('\n'),
  )
}

export const startHelp = (): string =>
  [
    'kaha start [--empty]',
    '',
    'Runs Kaha until Ctrl-C: starts the embedded database, brings its schema up to date, and serves. A new sandbox is seeded and',
    'lives through a small story; with --empty it does not, and no later start plays the story in it.',
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
    '  kaha entities   list, make, lock and activate partners, merchants and branches',
    '  kaha keys       list, issue and revoke secret keys',
    '  kaha terminals  list and issue keys of tills and terminals, close their sockets, move devices',
    '  kaha processes  list the processes that work with the database now',
    '  kaha attention  list and settle what needs a person',
    '  kaha pay        pay a QR Ph code of a running sandbox, from its text or a picture',
    '',
    '--help after each tells more, and `kaha --version` which version this is.',
    '',
  ].join('\n')
