import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { NatsServers } from './kernel/bus-nats.ts'
import { StartFault } from './kernel/fault.ts'
import type { LogLevel } from './kernel/log.ts'
import { currencies as knownCurrencies } from './kernel/money.ts'
import { keyOf } from './kernel/seal.ts'
import { isLoopbackHost } from './kernel/web-address.ts'
import { clashOf, urlSettingOf, type ServiceUrls } from './config-urls.ts'

export type Role = 'api' | 'gateway' | 'worker'
export const roles: readonly Role[] = ['api', 'gateway', 'worker']

export interface Config {
  readonly mode: 'sandbox' | 'live'
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** Null: the embedded database. */
  readonly databaseUrl: string | null
  /** What carries hints between processes. Null: the database. */
  readonly nats: NatsServers | null
  readonly roles: readonly Role[]
  /** Null in a sandbox: made once in the data directory. */
  readonly masterKey: Buffer | null
  readonly urls: ServiceUrls
  readonly webhookTargets: 'public' | 'any'
  readonly currencies: readonly string[]
  readonly terminalCurrencies: readonly string[]
  readonly rateLimitPerSecond: number
  readonly confirmsPerMinute: number
  readonly confirmWaitSeconds: number
  /** What QR Ph codes say of the bank that receives the money. Null: there is none, and no QR service. */
  readonly qrBank: { readonly bic: string; readonly notifyFlags: string } | null
  readonly trustProxy: false | string[]
  /** Where metrics are served: with the API, on an address of their own, or nowhere. */
  readonly metrics: 'main' | { readonly host: string; readonly port: number } | 'off'
  readonly logLevel: LogLevel
}

type Environment = Readonly<Record<string, string | undefined>>

export interface Setting {
  readonly name: string
  readonly default: string
  readonly says: string
}

const iso4217 = 'the codes of ISO 4217, such as PHP and USD'
const terminalCurrenciesDefault: readonly string[] = ['USD', 'EUR', 'GBP', 'PHP', 'JPY', 'CAD', 'AUD']

/** Every setting there is; help and docs are made from this list. */
export const settings: readonly Setting[] = [
  { name: 'KAHA_MODE', default: 'sandbox', says: 'sandbox or live' },
  { name: 'KAHA_HOST', default: '127.0.0.1', says: 'address to listen on' },
  { name: 'KAHA_PORT', default: '8080', says: 'port to listen on; 0 takes any that is free' },
  { name: 'KAHA_DATA_DIR', default: '.kaha', says: 'where the embedded database and the keys of a sandbox are kept' },
  {
    name: 'KAHA_DATABASE_URL',
    default: 'the embedded database',
    says: 'a PostgreSQL of version 15 or newer: postgres://…',
  },
  {
    name: 'KAHA_NATS_URL',
    default: 'none: the database carries them',
    says: 'NATS brokers for hints between processes: nats://… or tls://…, comma-separated',
  },
  { name: 'KAHA_ROLES', default: 'api,gateway,worker', says: 'what this process does' },
  {
    name: 'KAHA_MASTER_KEY',
    default: 'made once in a sandbox',
    says: '32 bytes in base64; seals secrets; required in live',
  },
  {
    name: 'KAHA_BASE_URL',
    default: 'http://localhost:PORT in a sandbox',
    says: 'public address of the merchant APIs; required in live, and https there',
  },
  { name: 'KAHA_TERMINAL_URL', default: 'BASE/terminal', says: 'public address of the terminal API' },
  { name: 'KAHA_TERMINAL_WS_URL', default: 'ws BASE/terminal', says: 'public address of the terminal sockets' },
  { name: 'KAHA_WEBHOOKS_URL', default: 'BASE/webhooks', says: 'public address of the encrypted webhook service' },
  { name: 'KAHA_QR_URL', default: 'BASE/qr', says: 'public address of the QR service' },
  { name: 'KAHA_CHECKOUT_URL', default: 'BASE/pay', says: "public address of the payer's pages" },
  { name: 'KAHA_DASHBOARD_URL', default: 'BASE/dashboard', says: 'public address of the dashboard' },
  { name: 'KAHA_SANDBOX_URL', default: 'BASE/sandbox', says: 'address of the sandbox controls' },
  {
    name: 'KAHA_WEBHOOK_TARGETS',
    default: 'any in a sandbox on a loopback address, else public',
    says: 'where webhooks may go: public (https, public addresses) or any; live takes public alone',
  },
  { name: 'KAHA_CURRENCIES', default: 'PHP', says: 'currencies of links and intents, comma-separated' },
  {
    name: 'KAHA_TERMINAL_CURRENCIES',
    default: terminalCurrenciesDefault.join(','),
    says: 'currencies of payments at terminals, comma-separated',
  },
  {
    name: 'KAHA_RATE_LIMIT',
    default: '1000 in a sandbox, 100 in live',
    says: 'requests a second per key, twice that in a burst; 0 is off',
  },
  {
    name: 'KAHA_CONFIRM_LIMIT',
    default: '0 in a sandbox, 30 in live',
    says: 'confirms by client_secret and forms sent at the checkout, together, a minute per client address; 0 is off',
  },
  {
    name: 'KAHA_CONFIRM_WAIT',
    default: '10',
    says: 'seconds that a confirm or a refund waits for the processor; 15 at most',
  },
  {
    name: 'KAHA_QR_BIC',
    default: 'TESTPHM1XXX in a sandbox, none in live',
    says: 'BIC of the bank that QR Ph codes are paid to; live has no area E without one',
  },
  { name: 'KAHA_QR_TAG_28_05', default: '010', says: 'what tag 28-05 of QR Ph codes says' },
  {
    name: 'KAHA_TRUST_PROXY',
    default: 'none',
    says: 'networks of proxies that may name the client: none, or CIDRs, comma-separated',
  },
  {
    name: 'KAHA_METRICS',
    default: 'the main port on a loopback address, else off',
    says: 'HOST:PORT of an own listener for metrics, main or off',
  },
  { name: 'KAHA_LOG_LEVEL', default: 'info', says: 'debug, info, warn, error or silent' },
]

const natsPort = 4222
// A call that may last longer than its lease of 20 s would be asked about by somebody else while it is under way.
const confirmWaitSecondsMax = 15
// No bank has it, so that no bank's app can pay a sandbox.
const fictionalBic = 'TESTPHM1XXX'

/** Reads and checks the settings. Throws a StartFault that names the setting and what it takes. */
export function readConfig(env: Environment): Config {
  const read = reader(env)
  const mode = read.oneOf('KAHA_MODE', ['sandbox', 'live'], 'sandbox')
  const host = read.text('KAHA_HOST') ?? '127.0.0.1'
  const onLoopback = isLoopbackHost(host)
  const webhookTargets = read.oneOf(
    'KAHA_WEBHOOK_TARGETS',
    ['public', 'any'],
    mode === 'sandbox' && onLoopback ? 'any' : 'public',
  )
  if (mode === 'live' && webhookTargets === 'any')
    throw bad('KAHA_WEBHOOK_TARGETS', 'is any, which live mode does not allow; unset it')
  const masterKey = read.masterKey(mode)
  const base = read.pageUrl('KAHA_BASE_URL', mode, '')
  if (mode === 'live' && base === null)
    throw bad('KAHA_BASE_URL', 'is required in live mode: the https address that merchants call')
  const urls = {
    base,
    terminal: read.url('KAHA_TERMINAL_URL', mode),
    terminalWs: read.url('KAHA_TERMINAL_WS_URL', mode, ['ws:', 'wss:']),
    webhooks: read.url('KAHA_WEBHOOKS_URL', mode),
    qr: read.url('KAHA_QR_URL', mode),
    checkout: read.pageUrl('KAHA_CHECKOUT_URL', mode, '/pay'),
    dashboard: read.pageUrl('KAHA_DASHBOARD_URL', mode, '/dashboard'),
    sandbox: read.pageUrl('KAHA_SANDBOX_URL', mode, '/sandbox'),
  }
  const clash = clashOf(urls)
  if (clash !== undefined)
    throw bad(
      urlSettingOf(clash[0]),
      `is at the address of ${urlSettingOf(clash[1])}, so that nobody could tell which of them a request is for: give it a host or a path of its own, or unset it`,
    )
  return Object.freeze({
    mode,
    host,
    port: read.integer('KAHA_PORT', 8080, 65_535),
    dataDir: resolve(read.text('KAHA_DATA_DIR') ?? '.kaha'),
    databaseUrl: read.databaseUrl(),
    nats: read.nats(),
    roles: read.list('KAHA_ROLES', roles, roles),
    masterKey,
    urls,
    webhookTargets,
    currencies: read.list('KAHA_CURRENCIES', Object.keys(knownCurrencies), ['PHP'], iso4217),
    terminalCurrencies: read.list(
      'KAHA_TERMINAL_CURRENCIES',
      Object.keys(knownCurrencies),
      terminalCurrenciesDefault,
      iso4217,
    ),
    rateLimitPerSecond: read.integer('KAHA_RATE_LIMIT', mode === 'sandbox' ? 1_000 : 100, 1_000_000),
    confirmsPerMinute: read.integer('KAHA_CONFIRM_LIMIT', mode === 'sandbox' ? 0 : 30, 1_000_000),
    confirmWaitSeconds: read.integer('KAHA_CONFIRM_WAIT', 10, confirmWaitSecondsMax),
    qrBank: read.qrBank(mode),
    trustProxy: read.trustProxy(),
    metrics: read.metrics(onLoopback),
    logLevel: read.oneOf('KAHA_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
  } satisfies Config)
}

/** Names that look like settings and are none: most likely misspelt. */
export function unknownSettings(env: Environment): string[] {
  const known = new Set(settings.map((setting) => setting.name))
  return Object.keys(env).filter(
    (name) => name.startsWith('KAHA_') && !name.startsWith('KAHA_TEST_') && !known.has(name),
  )
}

function isNetwork(text: string): boolean {
  const [address = '', bits, more] = text.split('/')
  const version = isIP(address)
  const bitsMax = version === 4 ? 32 : 128
  return (
    version !== 0 && more === undefined && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax))
  )
}

const bad = (name: string, why: string) => new StartFault(`${name} ${why}`)

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // What is no percent-encoding was meant as it stands.
    return part
  }
}

function reader(env: Environment) {
  const text = (name: string): string | undefined => (env[name] === '' ? undefined : env[name])
  return {
    text,
    oneOf<const V extends string>(name: string, values: readonly V[], otherwise: V): V {
      const value = text(name) ?? otherwise
      if (!values.includes(value as V)) throw bad(name, `is none of ${values.join(', ')}`)
      return value as V
    },
    integer(name: string, otherwise: number, max: number): number {
      const value = text(name)
      if (value === undefined) return otherwise
      if (!/^\d{1,9}$/.test(value) || Number(value) > max) throw bad(name, `must be a whole number from 0 to ${max}`)
      return Number(value)
    },
    list<const V extends string>(
      name: string,
      values: readonly V[],
      otherwise: readonly V[],
      known = values.join(', '),
    ): readonly V[] {
      const given = text(name)?.split(',')
      const wrong = given?.find((one) => !values.includes(one as V))
      if (wrong !== undefined)
        throw bad(
          name,
          `knows no ${wrong === '' ? 'empty entry' : wrong}: name some of ${known}, with commas between them`,
        )
      return given === undefined ? otherwise : [...new Set(given as V[])]
    },
    url(name: string, mode: Config['mode'], schemes: readonly string[] = ['http:', 'https:']): string | null {
      const value = text(name)
      if (value === undefined) return null
      const url = URL.canParse(value) ? new URL(value) : undefined
      // The parser takes a host even out of `http:pay.test`, and hides a `?` or `@` with nothing behind or before it.
      if (url === undefined || !schemes.includes(url.protocol) || !/^\s*\w+:\/\/[^/\\?#@]+(\/[^\\?#]*)?$/.test(value)) {
        throw bad(name, `must be an address that begins with ${schemes.join('// or ')}//, without a query`)
      }
      if (mode === 'live' && !['https:', 'wss:'].includes(url.protocol))
        throw bad(name, 'must begin with https (wss for sockets) in live mode')
      // As it is parsed, for links, codes and files are made of it.
      return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
    },
    /** Pages load what they need from the root of their host: of paths there is but the one that Kaha has itself. */
    pageUrl(name: string, mode: Config['mode'], ownPath: string): string | null {
      const url = this.url(name, mode)
      if (url !== null && !['/', ownPath].includes(new URL(url).pathname))
        throw bad(name, `must have no path${ownPath === '' ? '' : ` but ${ownPath}`}: give it a host name of its own`)
      return url
    },
    databaseUrl(): string | null {
      const value = text('KAHA_DATABASE_URL')
      if (value === undefined) return null
      if (!/^postgres(ql)?:\/\//.test(value)) throw bad('KAHA_DATABASE_URL', 'must begin with postgres://')
      return value
    },
    nats(): NatsServers | null {
      const value = text('KAHA_NATS_URL')
      if (value === undefined) return null
      const urls = value.split(',').map((one) => (URL.canParse(one) ? new URL(one) : undefined))
      const [first] = urls
      const who = first && [first.protocol, first.username, first.password].join()
      const isOne = (url: URL | undefined) =>
        url !== undefined &&
        ['nats:', 'tls:'].includes(url.protocol) &&
        url.hostname !== '' &&
        ['', '/'].includes(url.pathname + url.search + url.hash) &&
        [url.protocol, url.username, url.password].join() === who
      if (first === undefined || !urls.every(isOne))
        throw bad(
          'KAHA_NATS_URL',
          'must be nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before the host where the broker asks for it; several of one cluster comma-separated, all with the same',
        )
      const [user, secret] = [first.username, first.password].map((part) => (part === '' ? null : decoded(part)))
      return {
        at: urls
          .flatMap((url) => url ?? [])
          .map(({ hostname, port }) => ({
            host: hostname.replace(/^\[(.*)\]$/, '$1'),
            port: port === '' ? natsPort : Number(port),
          })),
        tls: first.protocol === 'tls:',
        ...(secret == null ? { user: null, secret: user ?? null } : { user: user ?? '', secret }),
      }
    },
    masterKey(mode: Config['mode']): Buffer | null {
      const value = text('KAHA_MASTER_KEY')
      if (value === undefined) {
        if (mode === 'live')
          throw bad('KAHA_MASTER_KEY', 'is required in live mode: 32 random bytes in base64 (openssl rand -base64 32)')
        return null
      }
      const key = keyOf(value)
      if (key === undefined) throw bad('KAHA_MASTER_KEY', 'must be 32 bytes in padded base64')
      return key
    },
    qrBank(mode: Config['mode']): Config['qrBank'] {
      const bic = text('KAHA_QR_BIC') ?? (mode === 'sandbox' ? fictionalBic : undefined)
      const notifyFlags = text('KAHA_QR_TAG_28_05') ?? '010'
      if (bic !== undefined && !/^[A-Z0-9]{8}([A-Z0-9]{3})?$/.test(bic))
        throw bad('KAHA_QR_BIC', 'must be a BIC of 8 or 11 capital letters and digits')
      if (mode === 'live' && bic === fictionalBic)
        throw bad(
          'KAHA_QR_BIC',
          'is the fictional bank of a sandbox, which nobody can pay to: set the BIC of your bank, or unset it to have no QR service',
        )
      if (!/^[0-9]{1,3}$/.test(notifyFlags)) throw bad('KAHA_QR_TAG_28_05', 'must be one to three digits')
      return bic === undefined ? null : { bic, notifyFlags }
    },
    trustProxy(): false | string[] {
      const value = text('KAHA_TRUST_PROXY')
      if (value === undefined || value === 'none') return false
      const networks = value.split(',')
      if (!networks.every(isNetwork))
        throw bad('KAHA_TRUST_PROXY', 'must be none, or addresses and CIDRs, comma-separated (10.0.0.0/8)')
      const everybody = networks.find((network) => /\/0+$/.test(network))
      if (everybody !== undefined)
        throw bad(
          'KAHA_TRUST_PROXY',
          `has ${everybody}, with which anybody could name any client: name the addresses or networks of your proxies alone (10.0.0.0/8)`,
        )
      return networks
    },
    metrics(onLoopback: boolean): Config['metrics'] {
      const value = text('KAHA_METRICS')
      if (value === undefined) return onLoopback ? 'main' : 'off'
      if (value === 'main' || value === 'off') return value
      const at = value.lastIndexOf(':')
      const port = Number(value.slice(at + 1))
      // A port of the system's choice would be told to nobody.
      if (at < 1 || !/^\d{1,5}$/.test(value.slice(at + 1)) || port < 1 || port > 65_535)
        throw bad('KAHA_METRICS', 'must be HOST:PORT with a port from 1 to 65535, main or off')
      return { host: value.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port }
    },
  }
}
