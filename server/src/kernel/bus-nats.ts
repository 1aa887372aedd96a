import { connect as connectTcp } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import { busOver, payloadBytesMax, type Bus, type BusOptions, type Kind, type Line, type OpenLine } from './bus.ts'
import { StartFault } from './fault.ts'

/** Brokers of one cluster, and who we are to them. */
export interface NatsServers {
  readonly at: readonly { readonly host: string; readonly port: number }[]
  /** True: TLS or nothing. */
  readonly tls: boolean
  readonly user: string | null
  /** Of the user; without a user, a token. */
  readonly secret: string | null
}

export interface NatsBusOptions extends BusOptions {
  readonly servers: NatsServers
  /** What is the installation's own on a broker that others may use too. */
  readonly subject: string
  readonly connectMsMax?: number
  /** How often the broker is asked whether the line is still there. */
  readonly pingMs?: number
}

const kinds: readonly Kind[] = ['hints', 'words']
// Ours find a broker that says nothing; the client's own would wait for the bytes before them to leave.
const neverMs = 2 ** 31 - 1

/** A bus over NATS: plain publish and subscribe, nothing is kept by the broker. A StartFault where no broker can be used. */
export const natsBus = (options: NatsBusOptions): Promise<Bus> =>
  busOver(natsLine(options), { ...options, startFault: (error) => startFault(options, error) })

function natsLine({ servers, subject, connectMsMax = 5_000, pingMs = 5_000 }: NatsBusOptions): Line {
  let current: Broker | undefined
  const subjectOf = (kind: Kind) => `${subject}.${kind}`

  const dial = async (): Promise<NatsConnection> => {
    const alive = await greeting(servers.at, connectMsMax)
    return connect({
      servers: alive.map(nameOf),
      ...(servers.user === null ? {} : { user: servers.user, pass: servers.secret ?? '' }),
      ...(servers.user === null && servers.secret !== null ? { token: servers.secret } : {}),
      ...(servers.tls ? { tls: {} } : {}),
      name: 'kaha',
      // A line that broke is made anew by the bus.
      reconnect: false,
      noEcho: true,
      timeout: connectMsMax,
      pingInterval: neverMs,
    })
  }

  return {
    async send(kind, payloads) {
      const broker = current
      if (broker === undefined) throw new errors.ConnectionError('there is no connection to NATS')
      for (const payload of payloads) broker.client.publish(subjectOf(kind), payload)
      // The broker's answer comes behind everything that it was sent before.
      await broker.answered()
    },

    async open(heard): Promise<OpenLine> {
      const broker = brokerOf(await dial())
      const { client } = broker
      let stale = (_error: Error) => {}
      const broken = new Promise<Error>((resolve) => {
        stale = resolve
        void client.closed().then((error) => resolve(error ?? new errors.ConnectionError('NATS closed the connection')))
      })
      let pings: NodeJS.Timeout | undefined
      let isClosed = false
      const close = async () => {
        isClosed = true
        clearInterval(pings)
        if (current === broker) current = undefined
        await client.close()
      }
      void broken.then(close)
      let silence: Error | undefined
      const timer = setTimeout(() => stale((silence = new Error('it does not answer'))), connectMsMax)
      try {
        await begin(broker, kinds.map(subjectOf), (at, payload) =>
          heard(at === subjectOf('hints') ? 'hints' : 'words', payload),
        )
        // By a broker that stops as it gives its first answer.
        if (isClosed) throw await broken
      } catch (error) {
        await close()
        throw silence ?? error
      } finally {
        clearTimeout(timer)
      }
      let unanswered = false
      pings = setInterval(() => {
        if (unanswered) return stale(new errors.TimeoutError())
        unanswered = true
        broker.answered().then(
          () => (unanswered = false),
          () => {},
        )
      }, pingMs)
      current = broker
      return { broken, close }
    },
  }
}

/** Subscribes, and makes sure that what is published and subscribed is allowed, before anything is built on it. */
async function begin(
  { client, answered }: Broker,
  subjects: readonly string[],
  heard: (subject: string, payload: string) => void,
): Promise<void> {
  if ((client.info?.max_payload ?? 0) < payloadBytesMax)
    throw new errors.ConnectionError(`its max_payload is below ${payloadBytesMax} bytes`)
  let refusal: Error | undefined
  const watch = async () => {
    for await (const status of client.status()) if (status.type === 'error') refusal = status.error
  }
  void watch()
  for (const subject of subjects) {
    client.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) heard(message.subject, message.string())
      },
    })
    // Nobody said anything.
    client.publish(subject)
  }
  await answered()
  // Refusals come before the answer, and are told a turn later.
  await turn()
  if (refusal !== undefined) throw refusal
}

/** One connection to a broker. */
interface Broker {
  readonly client: NatsConnection
  /** Resolves when the broker has taken everything that it was sent; rejects when it goes away before. */
  answered(): Promise<void>
}

function brokerOf(client: NatsConnection): Broker {
  // The end of the connection is listened to once: whatever each send left on it would stay for as long as the connection does.
  const waiting = new Set<(error: Error) => void>()
  const watch = async () => {
    const error = (await client.closed()) ?? new errors.ClosedConnectionError()
    for (const reject of waiting) reject(error)
  }
  void watch()
  return {
    client,
    answered: () =>
      new Promise((resolve, reject) => {
        waiting.add(reject)
        void client
          .flush()
          .then(resolve, reject)
          .finally(() => waiting.delete(reject))
      }),
  }
}

type Address = NatsServers['at'][number]
const nameOf = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Those that take a connection and say something, which a broker does first. The client would never let go of one that says nothing. */
async function greeting(at: readonly Address[], waitMsMax: number): Promise<readonly Address[]> {
  const tried = await Promise.allSettled(at.map((one) => greets(one, waitMsMax)))
  const alive = at.filter((_, index) => tried[index]?.status === 'fulfilled')
  const [first] = tried
  if (alive.length === 0) throw first?.status === 'rejected' ? first.reason : new errors.TimeoutError()
  return alive
}

function greets({ host, port }: Address, waitMsMax: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host, port })
    const timer = setTimeout(() => socket.destroy(new Error('it does not answer')), waitMsMax)
    socket.once('data', () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
    socket.once('close', () => {
      clearTimeout(timer)
      reject(new Error('it closes the connection without a word'))
    })
  })
}

/** In words, without any of what the address holds beside hosts and ports. */
function startFault({ servers, subject }: NatsBusOptions, error: Error): StartFault {
  const where = `the NATS broker of KAHA_NATS_URL (${servers.at.map(nameOf).join(', ')})`
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError)
    return new StartFault(`${where} refuses us: put its user and password, or its token, into the address`, {
      cause: error,
    })
  if (error instanceof errors.PermissionViolationError)
    return new StartFault(
      `${where} does not let us ${error.operation === 'publish' ? 'publish' : 'subscribe'} on ${error.subject}: allow its user both on ${subject}.*`,
      { cause: error },
    )
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const why = reasons[code] ?? error.message
  return new StartFault(
    `${where} cannot be used: ${why}; start it, correct the address, or unset KAHA_NATS_URL for all processes to go through the database`,
    { cause: error },
  )
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up at present',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no way to it',
}
