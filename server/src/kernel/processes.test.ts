import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { freshDatabase } from '../../test/cluster.ts'
import { until } from '../../test/until.ts'
import { busOver, type Kind, type Line } from './bus.ts'
import { createDb, type DbTarget, type Queries } from './db.ts'
import { createLog } from './log.ts'
import { hostIn, listProcesses, newProcessName, sessionNameOf, watchProcesses } from './processes.ts'

const everyMs = 20
// As late as an answer of the database may come.
const silenceMs = 1_000

type Heard = (kind: Kind, payload: string) => void

/** What carries words to all who have a line of it, until it is cut. */
function createBroker() {
  const all = new Set<Heard>()
  const cuts: (() => void)[] = []
  let isCut = false
  const line = (): Line => ({
    async open(heard) {
      if (isCut) throw new Error('there is no broker')
      all.add(heard)
      const broken = new Promise<Error>((resolve) => cuts.push(() => resolve(new Error('the broker is gone'))))
      return { broken, close: async () => void all.delete(heard) }
    },
    async send(kind, payloads) {
      for (const payload of payloads) for (const heard of all) heard(kind, payload)
    },
  })
  const cut = () => {
    isCut = true
    for (const one of cuts) one()
  }
  return { line, cut }
}

/** A process as far as others see it: its sessions in the database and its words. */
async function begin(target: DbTarget, line: Line, roles: readonly string[] = ['api', 'worker']) {
  await using building = new AsyncDisposableStack()
  const name = newProcessName()
  const db = building.use(createDb({ target, sessionName: sessionNameOf(roles, name), onError: () => {} }))
  const bus = building.use(await busOver(line, { onLost: () => {} }))
  const logged: { msg: string; processes?: string[] }[] = []
  const into = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(JSON.parse(chunk.toString()) as (typeof logged)[number])
      done()
    },
  })
  let looks = 0
  const counted: Queries = {
    async run(statement, values) {
      looks += 1
      return db.run(statement, values)
    },
  }
  const watched = building.use(
    watchProcesses({ db: counted, bus, log: createLog('info', into), name, everyMs, silenceMs }),
  )
  const held = building.move()
  return {
    name,
    db,
    bus,
    logged,
    looks: () => looks,
    unheard: () => watched.unheard,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test('processes of one database that hear each other are told of by nobody, and one with another line by all and all by it, until it ends', async () => {
  await using database = await freshDatabase()
  const { target } = database
  const [broker, another] = [createBroker(), createBroker()]
  await using first = await begin(target, broker.line())
  await using second = await begin(target, broker.line(), ['gateway'])
  await until('both are seen', async () => (await listProcesses(first.db)).length === 2)
  const end = performance.now() + 1.5 * silenceMs
  const both = [first, second]
  await until('either has looked after that', () => performance.now() > end && both.every(({ looks }) => looks() > 10))
  assert.deepEqual([first.unheard(), second.unheard(), first.logged, second.logged], [0, 0, [], []])

  const stranger = await begin(target, another.line())
  await until('it is missed', () => first.unheard() === 1 && second.unheard() === 1)
  await until('it misses both', () => stranger.unheard() === 2)
  const said =
    'processes on this database are not heard: their line is down, as their own logs tell, or their KAHA_NATS_URL is another'
  for (const { logged } of [first, second])
    assert.deepEqual(
      logged.map(({ msg, processes }) => [msg, processes]),
      [[said, [stranger.name]]],
    )
  assert.deepEqual(stranger.logged.at(-1)?.processes?.toSorted(), [first.name, second.name].toSorted())

  await stranger[Symbol.asyncDispose]()
  await until('it is missed no more', () => first.unheard() === 0 && second.unheard() === 0)
  assert.deepEqual(
    first.logged.slice(1).map(({ msg }) => msg),
    ['all processes on this database are heard'],
  )
})

test('a process whose own line is down misses nobody: that has a figure of its own', async () => {
  await using database = await freshDatabase()
  const [broker, another] = [createBroker(), createBroker()]
  await using one = await begin(database.target, broker.line())
  await using other = await begin(database.target, another.line())
  await until('both miss each other', () => one.unheard() === 1 && other.unheard() === 1)
  broker.cut()
  await until('it counts nobody', () => one.unheard() === 0)
  assert.deepEqual([one.bus.connected, other.unheard()], [false, 1])
})

test('a process is listed by its name, with its roles and where it is, and other sessions are not', async () => {
  await using database = await freshDatabase()
  await using plain = createDb({ target: database.target, onError: () => {} })
  assert.deepEqual(await listProcesses(plain), [])
  await using one = await begin(database.target, createBroker().line(), ['api', 'gateway', 'worker'])
  await until('it is seen', async () => (await listProcesses(plain)).length > 0)
  const address = 'url' in database.target ? '127.0.0.1' : null
  assert.deepEqual(await listProcesses(plain), [{ name: one.name, roles: 'api,gateway,worker', address }])
})

test('the name of a session has 63 bytes at most, whatever the host is called', () => {
  const name = newProcessName()
  assert.match(name, new RegExp(`^${process.pid}\\.[0-9a-f]{4}@[\\w.-]{1,24}$`))
  assert.notEqual(newProcessName(), name)
  const hosts = ['ip-10-0-12-34.eu-west-1.compute.internal', 'kaha-gateway-6d5f7c9b8f-x2x7p', 'einfach schön']
  assert.deepEqual(hosts.map(hostIn), ['ip-10-0-12-34', 'gateway-6d5f7c9b8f-x2x7p', 'einfach-sch-n'])
  const longest = `4194304.${'f'.repeat(4)}@${'h'.repeat(24)}`
  assert.ok(sessionNameOf(['api', 'gateway', 'worker'], longest).length <= 63)
})
