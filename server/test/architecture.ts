import { posix } from 'node:path'
import { importsOf, scan, type Scanned, type Texts } from '../../scripts/source.ts'

/**
 * The rules of the house as functions from source texts to sentences, one for each thing that is wrong. They know nothing of the
 * disk, so that a test can hand them a planted violation.
 */
export interface House {
  /** TypeScript by path from the root. */
  readonly code: Texts
  /** Migrations by path from the root. */
  readonly sql: Texts
}

/** Files that may break a rule, each with its reason. One that keeps the rule again must leave the list. */
export type Exceptions = Readonly<Record<string, string>>

const domain = ['payments', 'delivery', 'identity']

/** Which room may know which others. What is not here may know nobody; scripts, benchmarks and tests may know everybody. */
const mayKnow: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  qrph: [],
  sdk: ['contract', 'qrph'],
  cli: ['sdk', 'main'],
  main: ['commands', 'config', 'kernel'],
  commands: ['app', 'sandbox', 'identity', 'config', 'kernel', 'contract'],
  app: ['areas', 'sandbox', ...domain, 'config', 'kernel', 'contract'],
  config: ['kernel'],
  areas: [...domain, 'kernel', 'contract', 'qrph'],
  sandbox: [...domain, 'kernel', 'contract', 'qrph'],
  payments: ['kernel'],
  delivery: ['kernel'],
  identity: ['kernel'],
  kernel: ['contract'],
}

/** Who is asking: every room that answers somebody may know this file of another room. */
const knownToAll = ['server/src/identity/principal.ts']

const free = ['test', 'scripts', 'bench']

/** The room of a file: a workspace, a room of the server (`app` with the files beside it), or `areas/ecommerce`. Undefined in no room. */
export function roomOf(path: string): string | undefined {
  if (path.endsWith('.test.ts') || path.startsWith('server/test/')) return 'test'
  const [workspace, , third = '', fourth = ''] = path.split('/')
  if (workspace !== 'server') return workspace
  if (third === 'areas') return `areas/${fourth}`
  if (third.endsWith('.ts')) return /^(main|config)(?=-|\.)/.exec(third)?.[0] ?? 'app'
  return third in mayKnow ? third : undefined
}

const kind = (room: string): string => room.split('/')[0] ?? room
const isProduction = (path: string): boolean => !free.includes(roomOf(path) ?? '') && !path.endsWith('.gen.ts')
export const production = (texts: Texts): [string, Scanned][] =>
  [...texts].filter(([path]) => isProduction(path)).map(([path, text]) => [path, scan(text)])

/** Where an import leads: a path in this repository, or the name of a package. */
function target(from: string, specifier: string): { path: string } | { name: string } {
  if (specifier.startsWith('.')) return { path: posix.join(posix.dirname(from), specifier) }
  const [, workspace, file = 'index'] = /^@kaha\/(\w+)(?:\/(.+))?$/.exec(specifier) ?? []
  if (workspace) return { path: `${workspace}/src/${file}.ts` }
  const [first = '', second = ''] = specifier.split('/')
  return { name: first.startsWith('@') ? `${first}/${second}` : first }
}

/** Who imports whom: between rooms only along `mayKnow`, and the domain (service, machine, store) knows no wire. */
export function wrongImports({ code }: House): string[] {
  return production(code).flatMap(([path, scanned]) => {
    const room = roomOf(path)
    if (room === undefined) return [`${path} is in no room of the house: give it one in server/test/architecture.ts`]
    return importsOf(scanned).flatMap((specifier) => {
      const why = whyNot(path, room, specifier)
      return why === undefined ? [] : [`${path} imports ${specifier}: ${why}`]
    })
  })
}

function whyNot(path: string, room: string, specifier: string): string | undefined {
  const to = target(path, specifier)
  const isDomain = /(?:^|-)(?:service|machine|store)(?:-|\.ts$)/.test(posix.basename(path))
  if ('name' in to) {
    if (room === 'contract' && to.name !== 'typebox') return 'contract depends on typebox alone'
    if (isDomain && /^(?:fastify$|@fastify\/)/.test(to.name)) return 'services, machines and stores do not know Fastify'
    return undefined
  }
  const other = roomOf(to.path)
  if (other === undefined) return 'it leads to no room of the house'
  if (other === room) return undefined
  if (other === 'test') return 'what ships does not know its tests'
  if (kind(other) === 'areas' && kind(room) === 'areas') return 'areas do not know each other'
  if (isDomain && other === 'contract') return 'services, machines and stores do not know the wire'
  if (domain.includes(room) && knownToAll.includes(to.path)) return undefined
  if (!mayKnow[kind(room)]?.includes(kind(other))) return `${room} may not know ${other}`
  const leaves = path.split('/')[0] !== to.path.split('/')[0]
  return leaves && specifier.startsWith('.') ? 'other workspaces are imported by their names' : undefined
}

interface DatabaseObject {
  readonly name: string
  readonly schema: string
  readonly published: boolean
}

const schemas = [
  'kernel',
  'identity',
  'payments',
  'delivery',
  'sandbox',
  'webhooks',
  'reporting',
  'ecommerce',
  'terminals',
  'qr',
]
const qualified = new RegExp(`(?<![\\w.])(${schemas.join('|')})\\.([a-z_][a-z0-9_]*)`, 'g')
const creation =
  /((?:^[ \t]*--.*\n)*)^[ \t]*create\s+(?:or\s+replace\s+)?(?:unlogged\s+|materialized\s+)?(?:table|view|function|procedure|sequence|type|domain)\s+(?:if\s+not\s+exists\s+)?(\w+)\.(\w+)/gim

/** What the migrations create. A comment line `-- published` above a function or a view opens it to other rooms. */
function databaseObjects(sql: Texts): Map<string, DatabaseObject> {
  const found = [...sql.values()].flatMap((text) =>
    [...text.matchAll(creation)].map(([, above = '', schema = '', name = '']) => ({
      name: `${schema}.${name}`,
      schema,
      published: /^\s*--\s*published\b/m.test(above),
    })),
  )
  return new Map(found.map((object) => [object.name, object]))
}

/** Who names which tables: a room's own `store*.ts` and migrations (in the kernel, any file); other rooms use what it publishes. */
export function wrongTableNames({ code, sql }: House): string[] {
  const objects = databaseObjects(sql)
  return [...wrongInCode(code, objects), ...wrongInMigrations(sql, objects)]
}

function wrongInCode(code: Texts, objects: Map<string, DatabaseObject>): string[] {
  return production(code).flatMap(([path, scanned]) => {
    const own = (roomOf(path) ?? '').replace('areas/', '')
    const isStore = own === 'kernel' || /(?:^|-)store(?:-|\.ts$)/.test(posix.basename(path))
    const names = scanned.literals.flatMap(({ text }) =>
      [...text.matchAll(qualified)].map(([name]) => objects.get(name)),
    )
    const wrong = new Set<string>()
    for (const object of names) {
      if (!object || object.published) continue
      if (object.schema !== own) wrong.add(`${path} names ${object.name}, which ${object.schema} does not publish`)
      else if (!isStore) wrong.add(`${path} names ${object.name}: the tables of ${own} are named in its store*.ts only`)
    }
    const hides =
      /\.withSchema\s*\(/.test(scanned.code) || scanned.literals.some(({ text }) => /\bsearch_path\b/.test(text))
    if (hides) wrong.add(`${path} leaves a schema unsaid: write schema.table`)
    return [...wrong]
  })
}

function wrongInMigrations(sql: Texts, objects: Map<string, DatabaseObject>): string[] {
  return [...sql].flatMap(([path, text]) => {
    const own = /\/\d{4}_([a-z]+)[^/]*\.sql$/.exec(path)?.[1] ?? ''
    if (!schemas.includes(own)) return [`${path} does not say whose it is: name it NNNN_room.sql or NNNN_room_what.sql`]
    const names = [...text.replaceAll(/--.*/g, '').matchAll(qualified)].map(([name]) => objects.get(name))
    const foreign = names.filter((object) => object !== undefined && object.schema !== own && !object.published)
    return [
      ...new Set(foreign.map((object) => `${path} names ${object?.name}, which ${object?.schema} does not publish`)),
    ]
  })
}

const environment =
  /\bprocess\s*\??\.\s*env\b|\bprocess\s*\[|\{[^{}]*\benv\b[^{}]*\}\s*=\s*(?:globalThis\.)?process\b|\bimport\b[^;'"]*\benv\b[^;'"]*\bfrom\b/

/** Who reads the environment: `server/src/config.ts`. */
export function environmentReaders({ code }: House, exceptions: Exceptions): string[] {
  const found = production(code).filter(
    ([path, scanned]) => path !== 'server/src/config.ts' && environment.test(scanned.code),
  )
  return unless(
    exceptions,
    found.map(([path]) => [path, 'reads the environment: only server/src/config.ts does']),
  )
}

const systemClock = /\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|(?![\s(]))|(?<!\bnew\s+|[\w.])Date\s*\(\s*\)/

/** Who reads the system clock: `server/src/kernel/clock.ts`, which is injected everywhere else. */
export function systemClockReaders({ code }: House, exceptions: Exceptions): string[] {
  const found = production(code).filter(
    ([path, scanned]) => path !== 'server/src/kernel/clock.ts' && systemClock.test(scanned.code),
  )
  return unless(
    exceptions,
    found.map(([path]) => [path, 'reads the system clock: take a Clock, or a time, as a dependency']),
  )
}

export const linesMax = 400

/** Files so long that they hold more than one thing. Generated ones do not count. */
export function longFiles({ code }: House, exceptions: Exceptions): string[] {
  const lines = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  const found = [...code].filter(([path, text]) => !path.endsWith('.gen.ts') && lines(text) > linesMax)
  return unless(
    exceptions,
    found.map(([path, text]) => [path, `has ${lines(text)} lines, and ${linesMax} are enough for one thing`]),
  )
}

export function unless(exceptions: Exceptions, found: readonly (readonly [string, string])[]): string[] {
  const paths = new Set(found.map(([path]) => path))
  const wrong = found.filter(([path]) => !Object.hasOwn(exceptions, path)).map(([path, what]) => `${path} ${what}`)
  const idle = Object.keys(exceptions).filter((path) => !paths.has(path))
  return [...wrong, ...idle.map((path) => `${path} keeps the rule, so it must leave the list of exceptions`)]
}
