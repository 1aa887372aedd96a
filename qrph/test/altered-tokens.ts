import assert from 'node:assert/strict'
import { openToken, sealToken, tokenKey, TokenError } from '../src/token.ts'

/** What a run of altered tokens came to. */
export interface AlteredTokens {
  readonly refused: number
  /** How many there were of each kind of alteration. */
  readonly kinds: ReadonlyMap<string, number>
}

type Random = (max: number) => number

const letters = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
const odd = ['.', '=', '+', '/', ' ', '\n', '\0', 'é', '😀', '\ud83d', '%', '"', '{', '']

const at = (parts: readonly string[], index: number): string => parts[index] ?? ''
const pick = <T>(random: Random, of: readonly T[]): T => of[random(of.length)] as T
const splice = (text: string, from: number, count: number, more: string): string =>
  text.slice(0, from) + more + text.slice(from + count)
const header = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const headers: readonly unknown[] = [
  { alg: 'dir', enc: 'A256CBC-HS512' },
  { alg: 'A256KW', enc: 'A256GCM' },
  { alg: 'A128KW', enc: 'A128CBC-HS256' },
  { alg: 'PBES2-HS512+A256KW', enc: 'A256CBC-HS512', p2s: 'AAAA', p2c: 2_000_000_000 },
  { alg: 'A256KW', enc: 'A256CBC-HS512', zip: 'DEF' },
  { alg: 'A256KW', enc: 'A256CBC-HS512', crit: ['exp'], exp: 1 },
  { alg: 'none', enc: 'none' },
  { alg: ['A256KW'], enc: 'A256CBC-HS512' },
  { enc: 'A256CBC-HS512' },
  {},
  [],
  null,
  'A256KW',
  { alg: 'A256KW', enc: 'A256CBC-HS512', jwk: {}, x5u: 'http://127.0.0.1:9/' },
  { alg: 'RSA1_5', enc: 'A256CBC-HS512' },
  { alg: 'ECDH-ES', enc: 'A256CBC-HS512', epk: {} },
]

/** Ways to alter a token; each gives another text, or the same one where there was nothing to alter. */
const alterations: Readonly<Record<string, (token: string, random: Random, other: string) => string>> = {
  'one letter changed': (token, random) => splice(token, random(token.length), 1, pick(random, letters)),
  'one odd character': (token, random) => splice(token, random(token.length), 1, pick(random, odd)),
  'one character more': (token, random) =>
    splice(token, random(token.length + 1), 0, pick(random, [...letters, ...odd])),
  'a piece cut out': (token, random) => splice(token, random(token.length), 1 + random(40), ''),
  'cut off': (token, random) => token.slice(0, random(token.length)),
  'a piece twice': (token, random) => {
    const from = random(token.length)
    return splice(token, from, 0, token.slice(from, from + 1 + random(60)))
  },
  'a part of another token': (token, random, other) => {
    const [parts, others] = [token.split('.'), other.split('.')]
    const index = 1 + random(4)
    return parts.map((part, place) => (place === index ? at(others, place) : part)).join('.')
  },
  'a part of random bytes': (token, random) => {
    const parts = token.split('.')
    const bytes = Buffer.from(Array.from({ length: random(80) }, () => random(256)))
    return parts.with(random(5), bytes.toString('base64url')).join('.')
  },
  'parts in another order': (token, random) => {
    const parts = token.split('.')
    const [one, two] = [random(5), random(5)]
    return parts.with(one, at(parts, two)).with(two, at(parts, one)).join('.')
  },
  'another header': (token, random) =>
    token
      .split('.')
      .with(0, header(pick(random, headers)))
      .join('.'),
  'parts left out or added': (token, random) =>
    pick(random, [token.split('.').slice(0, random(5)).join('.'), `${token}.`, `.${token}`, `${token}.${token}`]),
  'no token at all': (_token, random) =>
    Array.from({ length: random(400) }, () => pick(random, [...letters, ...odd])).join(''),
}

/** The same numbers for the same seed. */
function numbersOf(seed: number): Random {
  let state = seed >>> 0
  return (max) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % max
  }
}

/** Alterations of a token, none of them the token itself. */
export async function alteredTokens(token: string, count: number, seed: number): Promise<string[]> {
  const random = numbersOf(seed)
  const another = await sealToken(await tokenKey('too-short-key'), { note: 'Kape ni Niño' })
  return Array.from({ length: count }, () => alterationOf(random, [token, another], 1).altered)
}

/** One of the first few tokens in an alteration that none of them is. */
function alterationOf(random: Random, tokens: readonly string[], ours: number): { name: string; altered: string } {
  for (;;) {
    const name = pick(random, Object.keys(alterations))
    const altered = alterations[name]?.(pick(random, tokens.slice(0, ours)), random, pick(random, tokens)) ?? ''
    if (!tokens.includes(altered)) return { name, altered }
  }
}

/**
 * Alters tokens, and opens each. Every one must be refused, and nothing in the refusal may tell for which reason. Resolves to how many
 * there were; throws at the first that was not.
 */
export async function openAltered(count: number, seed: number): Promise<AlteredTokens> {
  const random = numbersOf(seed)
  const key = await tokenKey('f3Kq9ZtB7mXw2LrN8vYc5HsD1jPe6UaG')
  const value = (note: string) => ({ activationCode: 'A9X4-B7P2-Q6Z8-M3L5', currency: 'PHP', amount: '98.00', note })
  const tokens = await Promise.all(['', 'x', 'Kape ni Niño ☕'.repeat(20)].map((note) => sealToken(key, value(note))))
  const kinds = new Map<string, number>()
  for (let refused = 0; refused < count; refused += 1) {
    const { name, altered } = alterationOf(random, tokens, tokens.length)
    const told = await openToken(key, altered).then(
      () => 'opened',
      (error: unknown) => describe(error),
    )
    assert.equal(told, refusal, `seed ${seed}, ${name}: ${JSON.stringify(altered)}`)
    kinds.set(name, (kinds.get(name) ?? 0) + 1)
  }
  return { refused: count, kinds }
}

/** All that whoever catches it could tell one from another by. */
function describe(error: unknown): string {
  if (!(error instanceof TokenError)) return `another error: ${String(error)}`
  const where = error.stack?.split('\n')[1] ?? ''
  return JSON.stringify([
    error.name,
    error.message,
    String(error.cause),
    Object.keys(error),
    where.replaceAll(/:\d+:\d+/g, ''),
  ])
}

const refusal = describe(await openToken(await tokenKey('any'), 'x').catch((error: unknown) => error))
