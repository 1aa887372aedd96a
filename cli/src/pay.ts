import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createKaha, imageBytesMax, KahaConnectionError, KahaError } from '@kaha/sdk'

const payHelp = [
  'kaha pay CODE [--decline | --expire | --read] [--json]',
  '',
  'The bank app of a running sandbox: pays a QR Ph code, declines it, lets it expire, or reads it and does nothing. CODE is its text, or a',
  'PNG or JPEG file that shows it, whose name ends in .png, .jpg or .jpeg.',
  '',
].join('\n')

/** What a person can mend: one line, exit code 1. */
class PayFault extends Error {}

const mebibyte = 1024 * 1024
const imageFile = /\.(?:png|jpe?g)$/i

/** Runs the command; resolves to the exit code. */
export async function payCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    await write(`${await pay(args, env)}\n`)
    return 0
  } catch (error) {
    const isAway = error instanceof KahaConnectionError
    if (!(error instanceof PayFault) && !(error instanceof KahaError) && !isAway) throw error
    process.stderr.write(`kaha: ${shown(error.message)}${isAway ? '; does the sandbox run?' : ''}\n`)
    return 1
  }
}

async function write(text: string): Promise<void> {
  process.stdout.on('error', () => {})
  const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => {
    process.stdout.write(text, resolve)
  })
  // Whoever reads what it says, such as `head`, may have enough of it.
  if (!failure || failure.code === 'EPIPE') return
  throw new PayFault(
    `what became of it could not be written (${failure.code ?? failure.message}), and it is done all the same: mend that first`,
  )
}

async function pay(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { given, decline, expire, read, json, help } = wanted(args)
  if (help) return payHelp.trimEnd()
  const { sandbox } = await bankOf(env)
  const code = imageFile.test(given) ? { qr_image: await pictureIn(given) } : { qr_text: given }
  if (read) {
    const found = await sandbox.readAsBank(code)
    if (json) return JSON.stringify(found)
    const amount = found.amount === null ? 'any amount' : `${found.currency} ${found.amount}`
    const stands = found.refusal?.message ?? `It is ${found.status}.`
    return shown(`${amount} to ${found.payee_name}, ${found.payee_city} (${found.bank}). ${stands}`)
  }
  const outcome = decline ? 'DECLINED' : expire ? 'EXPIRED' : 'SUCCESS'
  const done = await sandbox.payAsBank({ ...code, outcome })
  if (json) return JSON.stringify(done)
  return shown(
    `${done.status}: ${done.currency} ${decimalOf(done.amount)} to ${done.merchant_name}, ${done.merchant_reference_number}`,
  )
}

/** What others have said, on one line that does nothing to a screen: it neither steers it nor turns the text round. */
const shown = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ')

/** Centavos as text: codes are in pesos. */
function decimalOf(centavos: number): string {
  const digits = String(centavos).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

function wanted(args: readonly string[]) {
  const { values, positionals } = parsed(args)
  const { decline = false, expire = false, read = false, json = false, help = false } = values
  const [given = ''] = positionals
  if (!help && (positionals.length !== 1 || given === '' || [decline, expire, read].filter(Boolean).length > 1))
    throw new PayFault(
      'kaha pay takes one code, and one of --decline, --expire and --read; `kaha pay --help` tells more',
    )
  return { given, decline, expire, read, json, help }
}

function parsed(args: readonly string[]) {
  try {
    const flag = { type: 'boolean' } as const
    const options = { decline: flag, expire: flag, read: flag, json: flag, help: { ...flag, short: 'h' } } as const
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (cause) {
    const [why = ''] = (cause instanceof Error ? cause.message : String(cause)).split('\n')
    throw new PayFault(`${why.replace(/\.? To specify .*|\.$/, '')}; \`kaha pay --help\` tells what there is`, {
      cause,
    })
  }
}

/** The running sandbox, as its file tells where it is. */
async function bankOf(env: NodeJS.ProcessEnv) {
  // An empty setting is none, as for the server.
  const dataDir = env['KAHA_DATA_DIR'] || '.kaha'
  const path = join(dataDir, 'sandbox.json')
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const code = codeOf(cause)
    throw new PayFault(
      code === 'ENOENT'
        ? `there is no ${path}: start a sandbox, or say in KAHA_DATA_DIR where its data is; a live installation has no bank app`
        : `${path} cannot be read (${code}): mend that first`,
      { cause },
    )
  })
  try {
    const told = JSON.parse(text) as Told
    mustBeText(told.base_url, told.sandbox_url, told.partner.secret_key)
    return createKaha({ baseUrl: told.base_url, sandboxUrl: told.sandbox_url, apiKey: told.partner.secret_key })
  } catch (cause) {
    // What is wrong with it is not shown: it holds keys.
    throw new PayFault(`${path} is no file of a sandbox: start the sandbox, which writes it anew`, { cause })
  }
}

interface Told {
  readonly base_url: string
  readonly sandbox_url: string
  readonly partner: { readonly secret_key: string }
}

function mustBeText(...those: readonly unknown[]): void {
  if (!those.every((one) => typeof one === 'string')) throw new TypeError('it is no text')
}

/** What the system says to a file. */
const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer'

async function pictureIn(path: string): Promise<string> {
  const fail = (cause: unknown): never => {
    const code = codeOf(cause)
    throw new PayFault(
      code === 'ENOENT'
        ? `there is no picture ${path}`
        : `the picture ${path} cannot be read (${code}): mend that first`,
      { cause },
    )
  }
  const { size } = await stat(path).catch(fail)
  if (size > imageBytesMax)
    throw new PayFault(
      `the picture ${path} has more than ${imageBytesMax / mebibyte} MiB: make it smaller, or cut it to the code`,
    )
  const bytes = await readFile(path).catch(fail)
  if (bytes.length === 0) throw new PayFault(`the picture ${path} is empty`)
  return bytes.toString('base64')
}
