import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { answerReaders, readBytesMax } from './egress-answers.ts'

const readerOf = answerReaders()

/** What is heard of these bytes as they come, and of the end of the connection behind them. */
function heard(pieces: readonly Buffer[], { bodyBytesMax = Infinity } = {}): readonly string[] {
  const said: string[] = []
  let body = ''
  using reader = readerOf({
    head: (status, retryAfter) => said.push(`${status} ${retryAfter ?? '-'}`),
    body(bytes) {
      body += bytes.toString('latin1')
      return body.length <= bodyBytesMax
    },
    end(idleMsMax) {
      said.push(`body ${body}`, `end ${idleMsMax}`)
      body = ''
    },
  })
  try {
    for (const piece of pieces) reader.read(piece)
    if (reader.ended()) said.push('ended')
  } catch (error) {
    said.push((error as { code: string }).code)
  }
  return said
}

const bytesOf = (text: string) => Buffer.from(text, 'latin1')
const whole = (text: string) => heard([bytesOf(text)])

const answers: readonly [name: string, text: string, said: readonly string[]][] = [
  ['a short one', 'HTTP/1.1 204 No Content\r\n\r\n', ['204 -', 'body ', 'end 4000']],
  ['a length', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc', ['200 -', 'body abc', 'end 4000']],
  [
    'chunks with words and trailers',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\nretry-after: 9\r\n\r\n',
    ['200 -', 'body abc', 'end 4000'],
  ],
  [
    'a trailer that ends the connection',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nConnection: close\r\n\r\n',
    ['200 -', 'body a', 'end 0'],
  ],
  [
    'a time to wait, in any case and twice',
    'HTTP/1.1 429 X\r\nRETRY-After: 30\r\nx: y\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n',
    ['429 30, 60', 'body ', 'end 4000'],
  ],
  [
    'announcements before it',
    'HTTP/1.1 103 Early\r\nretry-after: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n',
    ['201 -', 'body ', 'end 4000'],
  ],
  ['a leave to go on', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 X\r\n\r\n', ['204 -', 'body ', 'end 4000']],
  [
    'how long the receiver waits',
    'HTTP/1.1 204 X\r\nkeep-alive: max=5, timeout=10\r\n\r\n',
    ['204 -', 'body ', 'end 8000'],
  ],
  [
    'a receiver that waits for long',
    'HTTP/1.1 204 X\r\nkeep-alive: timeout=900\r\n\r\n',
    ['204 -', 'body ', 'end 30000'],
  ],
  ['one that is about to close', 'HTTP/1.1 204 X\r\nkeep-alive: timeout=2\r\n\r\n', ['204 -', 'body ', 'end 0']],
  ['one that closes', 'HTTP/1.1 204 X\r\nconnection: close\r\n\r\n', ['204 -', 'body ', 'end 0']],
  ['the end of the connection', 'HTTP/1.1 200 OK\r\n\r\nabc', ['200 -', 'body abc', 'end 0', 'ended']],
  ['an older version', 'HTTP/1.0 200 OK\r\n\r\nabc', ['200 -', 'body abc', 'end 0', 'ended']],
  ['a body where none can be', 'HTTP/1.1 204 X\r\ncontent-length: 5\r\n\r\n', ['204 -', 'body ', 'end 0']],
  ['chunks where none can be', 'HTTP/1.1 304 X\r\ntransfer-encoding: chunked\r\n\r\n', ['304 -', 'body ', 'end 0']],
  ['less than it said', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc', ['200 -']],
  ['less, from one that closes', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nabc', ['200 -']],
]

test('an answer says the same however its bytes are cut on the way', () => {
  for (const [name, text, said] of answers) assert.deepEqual(whole(text), said, name)
  const cut = fc.record({ answer: fc.constantFrom(...answers), at: fc.array(fc.nat(200), { maxLength: 12 }) })
  fc.assert(
    fc.property(cut, ({ answer: [, text, said], at }) => {
      const places = [0, ...at.filter((place) => place < text.length).toSorted((a, b) => a - b), text.length]
      const pieces = places.slice(1).map((place, index) => bytesOf(text.slice(places[index], place)))
      assert.deepEqual(heard(pieces.filter((piece) => piece.length > 0)), said)
    }),
    { numRuns: 2_000 },
  )
})

test('what two readers could read differently is no answer', () => {
  const refused: readonly [text: string, code: string][] = [
    ['SSH-2.0-OpenSSH_9.6\r\n', 'HPE_INVALID_CONSTANT'],
    ['HTTP/1.1 2 OK\r\n\r\n', 'HPE_INVALID_STATUS'],
    ['HTTP/1.1 200 OK\r\nx : y\r\n\r\n', 'HPE_INVALID_HEADER_TOKEN'],
    ['HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n', 'HPE_INVALID_HEADER_TOKEN'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'HPE_UNEXPECTED_CONTENT_LENGTH'],
    ['HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', 'HPE_INVALID_CONTENT_LENGTH'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n', 'HPE_INVALID_CONTENT_LENGTH'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n', 'HPE_INVALID_CONTENT_LENGTH'],
    ['HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n', 'HPE_UNASKED'],
    [`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(17_000)}`, 'HPE_HEADER_OVERFLOW'],
    [`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(9_000)}`, 'HPE_HEADER_OVERFLOW'],
    [`HTTP/1.1 200 ${'x'.repeat(17_000)}`, 'HPE_HEADER_OVERFLOW'],
  ]
  for (const [text, code] of refused) assert.deepEqual(whole(text), [code], JSON.stringify(text.slice(0, 80)))
  const chunks = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  assert.deepEqual(whole(`${chunks}zz\r\n`), ['200 -', 'HPE_INVALID_CHUNK_SIZE'])
  assert.deepEqual(whole(`${chunks}fffffffffffffffff\r\n`), ['200 -', 'HPE_INVALID_CHUNK_SIZE'])
  assert.deepEqual(whole(`${chunks}0\r\n${'x: y\r\n'.repeat(9_000)}`), ['200 -', 'HPE_HEADER_OVERFLOW'])
})

test('an answer that never begins, or never gets to its body, is read for 256 KiB and no further', () => {
  const chunks = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const endless: readonly [start: string, piece: string][] = [
    ['', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['', '\r\n'],
    [`${chunks}1;`, 'a'],
  ]
  for (const [start, piece] of endless) {
    const more = bytesOf(piece.repeat(Math.floor(readBytesMax / piece.length)))
    const said = heard([bytesOf(start), ...Array<Buffer>(5).fill(more)])
    assert.equal(said.at(-1), 'HPE_ANSWER_OVERFLOW', JSON.stringify(piece))
  }

  const small = bytesOf(`${chunks}${'1\r\nx\r\n'.repeat(16 * 1024)}0\r\n\r\n`)
  const pieces = [small.subarray(0, readBytesMax), small.subarray(readBytesMax)]
  const said = ['200 -', `body ${'x'.repeat(16 * 1024)}`, 'end 4000']
  assert.deepEqual(heard([...pieces, ...pieces, ...pieces]), [...said, ...said, ...said])
})

test('a connection that brings more than its answer is not used again', () => {
  const more = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 Planted\r\ncontent-length: 0\r\n\r\n'
  assert.deepEqual(whole(more), ['200 -', 'body ', 'end 0'])
})

test('one connection brings answer after answer, and nothing of one is told with the next', () => {
  const first = bytesOf('HTTP/1.1 503 X\r\nretry-after: 5\r\nkeep-alive: timeout=20\r\ncontent-length: 1\r\n\r\na')
  const second = bytesOf('HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n')
  const said = ['503 5', 'body a', 'end 18000', '200 -', 'body ', 'end 4000']
  assert.deepEqual(heard([first, second, first, second]), [...said, ...said])
})

test('a body that nobody wants more of is read no further, and readers of one parser do not disturb each other', () => {
  const long = bytesOf(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1_000)}`)
  assert.deepEqual(heard([long], { bodyBytesMax: 10 }), ['200 -'])
  assert.deepEqual(whole('HTTP/1.1 204 X\r\n\r\n'), ['204 -', 'body ', 'end 4000'])
  assert.throws(() => heardTooMuch(), RangeError)
})

function heardTooMuch(): void {
  using reader = readerOf({ head() {}, body: () => true, end() {} })
  reader.read(Buffer.alloc(readBytesMax + 1))
}
