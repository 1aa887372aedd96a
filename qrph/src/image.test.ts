import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { decodeQR } from 'qr/decode.js'
import { qrPng, quietModules } from './image.ts'
import { writeQrPh } from './index.ts'

const { valid } = JSON.parse(readFileSync(new URL('../test/vectors/qr-texts.json', import.meta.url), 'utf8')) as {
  valid: readonly { readonly text: string }[]
}
const longest = writeQrPh({
  initiation: 'dynamic',
  acquirer: 'TESTPHM1XXX',
  merchantId: 'M'.repeat(25),
  notifyFlags: '010',
  mcc: '5999',
  amount: '99999.99',
  name: 'Ñ'.repeat(25),
  city: 'Ñ'.repeat(15),
  reference: 'R'.repeat(25),
  terminal: 'T'.repeat(25),
})
// Their bytes are letters of other encodings, too: a reader that is not told which it is takes them for Japanese or Chinese.
const named = ['Señor Kape', 'Parañaque Bakery', 'Doña Nena', 'Kapé', 'Piña'].map((name) =>
  writeQrPh({
    initiation: 'static',
    acquirer: 'TESTPHM1XXX',
    merchantId: '000000000000001',
    notifyFlags: '010',
    mcc: '5812',
    amount: null,
    name,
    city: 'Parañaque',
  }),
)
const texts = [...valid.map(({ text }) => text), longest, ...named]

interface Pixels {
  readonly side: number
  isBlack(x: number, y: number): boolean
}

/** The pixels of a PNG of ours: one bit each, rows as they are or as the one above. */
function pixelsOf(png: Buffer): Pixels {
  assert.equal(png.toString('latin1', 0, 8), '\x89PNG\r\n\x1a\n')
  const side = png.readUInt32BE(16)
  assert.equal(png.readUInt32BE(20), side)
  assert.deepEqual([...png.subarray(24, 29)], [1, 0, 0, 0, 0])
  const length = png.readUInt32BE(33)
  const data = inflateSync(png.subarray(41, 41 + length))
  const rowBytes = 1 + Math.ceil(side / 8)
  assert.equal(data.length, rowBytes * side)
  for (let y = 1; y < side; y += 1) {
    if (data[y * rowBytes] !== 2) continue
    for (let x = 1; x < rowBytes; x += 1)
      data[y * rowBytes + x] = ((data[y * rowBytes + x] ?? 0) + (data[(y - 1) * rowBytes + x] ?? 0)) & 0xff
  }
  return { side, isBlack: (x, y) => (((data[y * rowBytes + 1 + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1) === 0 }
}

test('a picture has four white modules around it, and error correction M', () => {
  for (const text of texts) {
    const { side, isBlack } = pixelsOf(qrPng(text))
    const modules = side / 8
    assert.equal((modules - 2 * quietModules - 17) % 4, 0)
    const module = (x: number, y: number) => isBlack(x * 8, y * 8)
    for (let along = 0; along < modules; along += 1) {
      for (let across = 0; across < quietModules; across += 1) {
        for (const [x, y] of [
          [along, across],
          [across, along],
          [along, modules - 1 - across],
          [modules - 1 - across, along],
        ] as const)
          assert.equal(module(x, y), false)
      }
    }
    for (let y = 0; y < side; y += 1)
      for (let x = 0; x < side; x += 1) assert.equal(isBlack(x, y), module(x >> 3, y >> 3))
    // The level is told beside the upper left corner, under a mask: 00 is M.
    const level =
      (Number(module(quietModules, quietModules + 8)) << 1) | Number(module(quietModules + 1, quietModules + 8))
    assert.equal(level ^ 0b10, 0b00)
  }
})

test('a picture gives its text back to the reader that reads pictures here', () => {
  for (const text of texts) {
    const { side, isBlack } = pixelsOf(qrPng(text))
    const data = new Uint8Array(side * side * 4).fill(255)
    for (let y = 0; y < side; y += 1)
      for (let x = 0; x < side; x += 1) if (isBlack(x, y)) data.fill(0, (y * side + x) * 4, (y * side + x) * 4 + 3)
    assert.equal(decodeQR({ width: side, height: side, data }), text)
  }
})

test('a picture is read by zbarimg, letters of two bytes too, whether it takes them for text or for bytes', async (t) => {
  if (spawnSync('zbarimg', ['--version']).error !== undefined) return t.skip('pictures of codes: there is no zbarimg')
  const folder = await mkdtemp(join(tmpdir(), 'kaha-qr-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const text of texts) {
    const path = join(folder, 'code.png')
    await writeFile(path, qrPng(text))
    for (const mode of [[], ['-Sbinary']]) {
      const { stdout, status } = spawnSync('zbarimg', ['--quiet', '--raw', '--oneshot', ...mode, path])
      assert.equal(status, 0)
      assert.equal(stdout.toString('utf8').replace(/\n$/, ''), text)
    }
  }
})

test('a text that no code holds is refused', () => {
  assert.throws(() => qrPng('a'.repeat(4_000)))
})
