import compiled from 'undici/lib/llhttp/llhttp-wasm.js'

/** Who hears what an answer says, as it comes. */
export interface AnswerListener {
  /** The head of the answer; those that only announce one (1xx) are passed over. */
  head(status: number, retryAfter: string | undefined): void
  /** A part of the body, in memory that is used again. False: no more of it is wanted, and the reader is not used again. */
  body(bytes: Buffer): boolean
  /** It is complete. `idleMsMax` is how long the connection may wait for another; 0: it may not. */
  end(idleMsMax: number): void
}

/** Reads the answers of one connection, one after the other. */
export interface AnswerReader extends Disposable {
  /** Takes at most `readBytesMax`. Throws at what is no answer, or none to a request of ours. Not to be disposed of by what it calls but `end`. */
  read(bytes: Buffer): void
  /** The connection has ended: whether that was the end of an answer. */
  ended(): boolean
}

export const readBytesMax = 64 * 1024
const headBytesMax = 16 * 1024
// Of one answer with all that announces and frames it. A body of 16 KiB in chunks of one byte takes 96 KiB.
const answerBytesMax = 256 * 1024
const idleMsDefault = 4_000
const idleMsMost = 30_000
/** The receiver closes after the time that it tells; it is to find no request of ours then. */
const idleMsMargin = 2_000

// llhttp is the parser of Node.js and of undici: a machine made from a description of HTTP/1.1, which keeps nothing of what it reads and
// refuses what two readers could read differently. These are its numbers.
const typeResponse = 2
const ok = 0
const paused = 21
const failed = -1
const withoutBody = 1

interface Llhttp {
  readonly memory: WebAssembly.Memory
  malloc(bytes: number): number
  llhttp_alloc(type: number): number
  llhttp_free(parser: number): void
  llhttp_execute(parser: number, at: number, bytes: number): number
  llhttp_finish(parser: number): number
  llhttp_resume(parser: number): void
  llhttp_should_keep_alive(parser: number): number
  llhttp_get_error_pos(parser: number): number
  llhttp_errno_name(error: number): number
}

/** What is known of an answer whose head or body comes. */
interface Reading {
  readonly listener: AnswerListener
  /** Since the last answer ended. */
  answerBytes: number
  headBytes: number
  /** Of a field. It may come in pieces, and so may its value. */
  name: string
  inValue: boolean
  keepAlive: string
  retryAfter: string | undefined
  /** It says that it has a body. */
  framed: boolean
  /** 0 until the head is complete. */
  status: number
  reusable: boolean
  complete: boolean
  /** Nobody wants more of it. */
  enough: boolean
  thrown: Error | undefined
}

/** An answer that is none. Its code is of the kind that Node.js has for it. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** Makes readers, which share the program and the memory of one parser. */
export function answerReaders(): (listener: AnswerListener) => AnswerReader {
  let reading = newReading(silent)
  let bytes: Buffer = Buffer.alloc(0)
  // What is thrown must not pass through the program of the parser, which would not clean up its stack.
  const fail = (error: unknown): number => {
    reading.thrown = error instanceof Error ? error : new Error('what was thrown is no error', { cause: error })
    return failed
  }
  const textOf = (at: number, length: number) => bytes.toString('latin1', at - base, at - base + length)

  const fitsHead = (length: number) => (reading.headBytes += length) < headBytesMax
  const headOverflow = () => fail(new NoAnswer('HPE_HEADER_OVERFLOW'))

  const env = {
    wasm_on_url: () => ok,
    wasm_on_status: (_: number, __: number, length: number) => (fitsHead(length) ? ok : headOverflow()),
    wasm_on_message_begin: () => ok,
    wasm_on_header_field(_: number, at: number, length: number) {
      if (!fitsHead(length)) return headOverflow()
      reading.name = (reading.inValue ? '' : reading.name) + textOf(at, length)
      reading.inValue = false
      return ok
    },
    wasm_on_header_value(_: number, at: number, length: number) {
      if (!fitsHead(length)) return headOverflow()
      // What trails a body is read and told to nobody.
      if (reading.status === 0) takeValue(reading, textOf(at, length))
      reading.inValue = true
      return ok
    },
    wasm_on_headers_complete(_: number, status: number, upgrade: number, keepAlive: number) {
      if (upgrade === 1) return fail(new NoAnswer('HPE_UNASKED'))
      // Nor did we ask for a 100, but some receivers send it to everybody (RFC 9110, section 15.2).
      if (status < 200) return withoutBody
      reading.status = status
      // What comes after an answer that has no body although it says so could be taken for the next answer.
      reading.reusable = keepAlive === 1 && !(reading.framed && (status === 204 || status === 304))
      try {
        reading.listener.head(status, reading.retryAfter)
        return ok
      } catch (error) {
        return fail(error)
      }
    },
    wasm_on_body(_: number, at: number, length: number) {
      try {
        reading.enough = !reading.listener.body(bytes.subarray(at - base, at - base + length))
        return reading.enough ? failed : ok
      } catch (error) {
        return fail(error)
      }
    },
    wasm_on_message_complete(parser: number) {
      reading.complete = reading.status !== 0
      // Whoever says in a trailer that the connection is over is taken at its word, too.
      reading.reusable &&= llhttp.llhttp_should_keep_alive(parser) === 1
      if (!reading.complete) beginAnew(reading)
      return reading.complete ? paused : ok
    },
  }
  const llhttp = new WebAssembly.Instance(new WebAssembly.Module(compiled), { env }).exports as Llhttp
  const base = llhttp.malloc(readBytesMax)
  let memory = new Uint8Array(llhttp.memory.buffer)

  const nameOf = (error: number) => {
    const at = llhttp.llhttp_errno_name(error)
    return Buffer.from(memory.subarray(at, memory.indexOf(0, at))).toString('latin1')
  }
  const end = (one: Reading, more: boolean) => {
    const idleMsMax = one.reusable && !more ? idleMsOf(one.keepAlive) : 0
    beginAnew(one)
    one.answerBytes = 0
    one.listener.end(idleMsMax)
  }

  return (listener) => {
    const own = newReading(listener)
    const parser = llhttp.llhttp_alloc(typeResponse)
    return {
      read(given) {
        if (given.length > readBytesMax) throw new RangeError('more bytes than the parser has room for')
        // It is another one after it grew.
        if (memory.buffer !== llhttp.memory.buffer) memory = new Uint8Array(llhttp.memory.buffer)
        memory.set(given, base)
        reading = own
        bytes = given
        own.answerBytes += given.length
        const result = llhttp.llhttp_execute(parser, base, given.length)
        if (own.thrown !== undefined) throw own.thrown
        if (own.complete) {
          const read = llhttp.llhttp_get_error_pos(parser) - base
          llhttp.llhttp_resume(parser)
          end(own, read < given.length)
        } else if (own.enough) return
        else if (result !== ok) throw new NoAnswer(nameOf(result))
        else if (own.answerBytes > answerBytesMax) throw new NoAnswer('HPE_ANSWER_OVERFLOW')
      },
      ended() {
        if (own.status === 0 || own.reusable) return false
        reading = own
        llhttp.llhttp_finish(parser)
        if (!own.complete) return false
        end(own, true)
        return true
      },
      [Symbol.dispose]: () => llhttp.llhttp_free(parser),
    }
  }
}

const silent: AnswerListener = { head() {}, body: () => false, end() {} }

const newReading = (listener: AnswerListener): Reading => ({
  listener,
  answerBytes: 0,
  headBytes: 0,
  name: '',
  inValue: false,
  keepAlive: '',
  retryAfter: undefined,
  framed: false,
  status: 0,
  reusable: false,
  complete: false,
  enough: false,
  thrown: undefined,
})

function beginAnew(reading: Reading): void {
  reading.headBytes = 0
  reading.name = ''
  reading.inValue = false
  reading.keepAlive = ''
  reading.retryAfter = undefined
  reading.framed = false
  reading.status = 0
  reading.complete = false
}

/** A value, or a further piece of one. Those of a repeated field are joined by a comma. */
function takeValue(reading: Reading, value: string): void {
  switch (reading.name.toLowerCase()) {
    case 'keep-alive':
      reading.keepAlive += value
      break
    case 'retry-after':
      if (reading.retryAfter === undefined) reading.retryAfter = value
      else reading.retryAfter += reading.inValue ? value : `, ${value}`
      break
    case 'content-length':
      reading.framed ||= /[1-9]/.test(value)
      break
    case 'transfer-encoding':
      reading.framed = true
  }
}

function idleMsOf(keepAlive: string): number {
  const seconds = /timeout=(\d+)/i.exec(keepAlive)?.[1]
  if (seconds === undefined) return idleMsDefault
  return Math.max(0, Math.min(Number(seconds) * 1_000 - idleMsMargin, idleMsMost))
}
