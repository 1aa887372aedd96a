import { randomUUID } from 'node:crypto'

/** What processes tell each other. A hint only says "look again"; the truth is always a row. */
export type Topic = 'clock' | 'keys' | 'payments' | 'events' | 'deliveries' | 'destinations' | 'terminals' | 'processes'

/** Ids and names of what happened, never data: none has a space or a line feed in it, and all of one saying have 500 bytes at most. */
export type Words = readonly string[]

/**
 * Hints between processes. In this process a hint is heard at once; elsewhere soon, or, where the line is down, not at all: whoever
 * listens also polls. After an outage every topic is hinted once, for whatever was missed.
 */
export interface Bus extends AsyncDisposable {
  hint(topic: Topic): void
  listen(topic: Topic, heard: () => void): () => void
  /**
   * Says a few words to whoever hears the topic, in their order: in this process at once, elsewhere soon. Where they may be lost on the way,
   * a hint of their topic follows as soon as one gets through, and stands for all of them.
   */
  say(topic: Topic, words: Words): void
  hear(topic: Topic, heard: (words: Words) => void): () => void
  /** Whether hints of other processes arrive at present. */
  readonly connected: boolean
  /** How often the line has broken since the start. */
  readonly outages: number
}

export type Kind = 'hints' | 'words'

/** What carries a bus from process to process. */
export interface Line {
  /** Hears what others send from now on; rejects where that cannot be. */
  open(heard: (kind: Kind, payload: string) => void): Promise<OpenLine>
  /** What is sent first arrives first. Rejects where any of it may not arrive. */
  send(kind: Kind, payloads: readonly string[]): Promise<unknown>
}

export interface OpenLine {
  /** Resolves when it has broken, or was closed. */
  readonly broken: Promise<Error>
  close(): Promise<void>
}

export interface BusOptions {
  readonly debounceMs?: number
  /** How long after a failure the line is tried again, and half as much more or less by chance. */
  readonly retryMs?: number
  /** Called once for an outage, however long it is. */
  readonly onLost: (error: Error) => void
  readonly onBack?: () => void
  /** What the start fails with where the line cannot be opened; without it the bus begins with an outage. */
  readonly startFault?: (error: Error) => Error
}

/** As many bytes as one message may have: PostgreSQL takes 7,999. */
export const payloadBytesMax = 7_900
const sayingBytesMax = 500
const retryMsUsual = 250
const sayingsWaitingMax = 20_000
const stopMsMax = 2_000

/** Hints of these topics, as a line carries them, after the name of who gives them. */
export const hintLine = (self: string, topics: Iterable<Topic>): string => [self, ...topics].join(' ')

/** The bus of one process over a line: it tells what happens here to others, what others tell here, and makes a line that broke anew. */
export async function busOver(line: Line, options: BusOptions): Promise<Bus> {
  const self = randomUUID()
  const ears = createEars()
  const state = createState(options)
  const outbox = createOutbox(line, self, options, state)

  const heard = (kind: Kind, payload: string) => {
    if (payload.startsWith(self) || state.closed) return
    const [, ...told] = payload.split(kind === 'hints' ? ' ' : '\n')
    if (kind === 'hints') for (const topic of told) ears.tell(topic)
    else for (const one of told) ears.tellWords(one.split(' '))
  }
  const hearing = await keepOpen(line, options, state, { heard, up: ears.tellAll })

  return {
    hint(topic) {
      ears.tell(topic)
      outbox.hint(topic)
    },
    listen: ears.listen,
    say(topic, words) {
      const one = [topic, ...words].join(' ')
      if (Buffer.byteLength(one) > sayingBytesMax || words.some((word) => /[ \n]/.test(word)))
        throw new RangeError(`what is said on a bus are words of ${sayingBytesMax} bytes in all, not data: ${topic}`)
      ears.tellWords([topic, ...words])
      outbox.say(topic, one)
    },
    hear: ears.hear,
    get connected() {
      return hearing.isOpen
    },
    get outages() {
      return state.outages
    },
    async [Symbol.asyncDispose]() {
      const sent = outbox.flush()
      state.closed = true
      await withinMs(stopMsMax, Promise.all([sent, hearing.settle()]))
      await hearing.close()
    },
  }
}

type Trouble = 'hearing' | 'sending'
type State = ReturnType<typeof createState>

/** Whether all is well, and who hears of it when that changes. */
function createState({ onLost, onBack = () => {} }: BusOptions) {
  const troubles = new Set<Trouble>()
  const state = {
    closed: false,
    outages: 0,
    stumble(trouble: Trouble, error: Error) {
      if (state.closed) return
      if (troubles.size === 0) {
        state.outages += 1
        onLost(error)
      }
      troubles.add(trouble)
    },
    recover(trouble: Trouble) {
      if (troubles.delete(trouble) && troubles.size === 0 && !state.closed) onBack()
    },
  }
  return state
}

/** What others are to be told: hints soon and together, words at the end of this turn, in their order. */
function createOutbox(line: Line, self: string, { debounceMs = 20, retryMs = retryMsUsual }: BusOptions, state: State) {
  const waiting = new Set<Topic>()
  let saying: { topic: Topic; line: string }[] = []
  let inFlight = 0
  let telling: Promise<void> | undefined
  let hinting: Promise<void> | undefined
  let hintTimer: NodeJS.Timeout | undefined

  const send = async (kind: Kind, payloads: readonly string[], topics: ReadonlySet<Topic>): Promise<void> => {
    try {
      await line.send(kind, payloads)
      state.recover('sending')
    } catch (error) {
      state.stumble('sending', error as Error)
      owe(topics)
    }
  }

  const hintIn = (ms: number) => {
    if (!state.closed) hintTimer ??= setTimeout(sendHints, ms)
  }
  const owe = (topics: Iterable<Topic>) => {
    for (const topic of topics) waiting.add(topic)
    hintIn(byChance(retryMs))
  }

  // One message of them at a time: what is hinted meanwhile goes together, after it, and no word waits behind more than one.
  const sendHints = (): void => {
    clearTimeout(hintTimer)
    hintTimer = undefined
    if (waiting.size === 0) return
    if (hinting !== undefined) return hintIn(debounceMs)
    const topics = new Set(waiting)
    waiting.clear()
    hinting = send('hints', [hintLine(self, topics)], topics).finally(() => (hinting = undefined))
  }
  const flushHints = async () => {
    await hinting
    sendHints()
    await hinting
  }
  const sendAll = async () => {
    while (saying.length > 0) {
      const said = saying
      saying = []
      inFlight = said.length
      await send('words', packed(said, self), new Set(said.map(({ topic }) => topic)))
      inFlight = 0
    }
  }
  // What is said while words are on their way goes together, after them: the more is said, the less each word costs.
  const sendWords = () => (telling ??= sendAll().finally(() => (telling = undefined)))

  return {
    hint(topic: Topic) {
      waiting.add(topic)
      hintIn(debounceMs)
    },
    say(topic: Topic, words: string) {
      if (state.closed) return
      if (saying.length + inFlight >= sayingsWaitingMax) return owe([topic])
      if (saying.length === 0) setImmediate(() => void sendWords())
      saying.push({ topic, line: words })
    },
    /** Sends what is left, and resolves when it is gone or lost. */
    async flush() {
      await Promise.all([sendWords(), flushHints()])
    },
  }
}

/** Opens the line, again whenever it breaks, until closed. `up` is called when others are heard again. */
async function keepOpen(
  line: Line,
  { retryMs = retryMsUsual, startFault }: BusOptions,
  state: State,
  { heard, up }: { readonly heard: (kind: Kind, payload: string) => void; readonly up: () => void },
) {
  let opened: OpenLine | undefined
  let opening: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined

  const open = async (): Promise<void> => {
    const next = await line.open(heard)
    if (state.closed) return next.close()
    opened = next
    state.recover('hearing')
    up()
    void watch(next)
  }
  const watch = async (one: OpenLine) => {
    const error = await one.broken
    if (opened === one) opened = undefined
    openLater(error)
  }
  const openLater = (error: Error) => {
    state.stumble('hearing', error)
    if (state.closed) return
    timer = setTimeout(() => {
      opening = open().catch(openLater)
    }, byChance(retryMs))
  }

  await open().catch((error: Error) => {
    if (startFault !== undefined) throw startFault(error)
    openLater(error)
  })
  return {
    get isOpen() {
      return opened !== undefined
    },
    /** Tries no more, and resolves when a try that was under way has ended. */
    async settle() {
      clearTimeout(timer)
      await opening
    },
    async close() {
      const last = opened
      opened = undefined
      await last?.close()
    },
  }
}

/** Who listens in this process. */
function createEars() {
  const listeners = new Map<string, Set<() => void>>()
  const hearers = new Map<string, Set<(words: Words) => void>>()
  const add = <F>(to: Map<string, Set<F>>, topic: Topic, heard: F): (() => void) => {
    const set = to.get(topic) ?? new Set<F>()
    to.set(topic, set.add(heard))
    return () => void set.delete(heard)
  }
  const tell = (topic: string) => listeners.get(topic)?.forEach((heard) => heard())
  return {
    tell,
    tellAll: () => {
      for (const topic of listeners.keys()) tell(topic)
    },
    tellWords: ([topic = '', ...words]: Words) => hearers.get(topic)?.forEach((heard) => heard(words)),
    listen: (topic: Topic, heard: () => void) => add(listeners, topic, heard),
    hear: (topic: Topic, heard: (words: Words) => void) => add(hearers, topic, heard),
  }
}

/** Sayings for one message each, as many as fit into it, after the name of who says them. */
function packed(said: readonly { readonly line: string }[], self: string): string[] {
  const all: string[][] = []
  let left = 0
  for (const { line } of said) {
    const bytes = Buffer.byteLength(line) + 1
    if (all.length === 0 || bytes > left) {
      all.push([self])
      left = payloadBytesMax - self.length
    }
    all.at(-1)?.push(line)
    left -= bytes
  }
  return all.map((lines) => lines.join('\n'))
}

// Processes that lost one line together do not come back to it together.
const byChance = (ms: number): number => ms * (0.5 + Math.random())

async function withinMs(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, ms)))])
  clearTimeout(timer)
}
