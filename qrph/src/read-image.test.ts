import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import { encode as encodeJpeg } from 'jpeg-js'
import { PNG } from 'pngjs'
import { qrPng } from './image.ts'
import { imageBytesMax } from './image-limit.ts'
import { readQrImage } from './read-image.ts'

const text =
  '00020101021228560011ph.ppmi.p2m0111TESTPHM1XXX0315000000000000001050301052045812530360854041.005802PH5912KAPE NI NIÑO6009PARAÑAQUE62170513REF00000000026304AC6C'
const ours = qrPng(text)
const pixels = PNG.sync.read(ours)
const read = (bytes: Uint8Array) => {
  const answer = readQrImage(bytes)
  return 'text' in answer ? answer.text : answer.refusal.reason
}

/** A canvas with the code somewhere on it, in these colours. */
function scene(dark: readonly number[], light: readonly number[], { turns = 0 } = {}) {
  const [width, height] = [pixels.width + 400, pixels.height + 250]
  const data = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [column, row] = turns === 1 ? [y - 90, pixels.height - 1 - (x - 130)] : [x - 130, y - 90]
      const inside = column >= 0 && row >= 0 && column < pixels.width && row < pixels.height
      const isDark = inside && pixels.data[(row * pixels.width + column) * 4] === 0
      data.set(isDark ? dark : light, (y * width + x) * 4)
    }
  }
  return { width, height, data }
}

const black = [0, 0, 0, 255]
const white = [255, 255, 255, 255]

test('a picture of ours gives its text back, letters of two bytes too', () => {
  assert.equal(read(ours), text)
})

test('a code is read from PNGs of every kind of colour, and where nothing but its black is painted', () => {
  for (const colorType of [0, 2, 4, 6] as const)
    for (const bitDepth of [8, 16] as const) {
      const png = Object.assign(new PNG({ width: 1, height: 1 }), scene(black, white))
      assert.equal(read(PNG.sync.write(png, { colorType, bitDepth })), text, `${colorType} ${bitDepth}`)
    }
  const see = Object.assign(new PNG({ width: 1, height: 1 }), scene(black, [0, 0, 0, 0]))
  assert.equal(read(PNG.sync.write(see)), text)
})

test('a code is read from a JPEG, from a pale one and from one that lies on its side', () => {
  for (const picture of [scene(black, white), scene([90, 80, 70, 255], [200, 210, 190, 255])])
    for (const quality of [90, 40]) assert.equal(read(encodeJpeg(picture, quality).data), text)
  assert.equal(read(encodeJpeg(scene(black, white, { turns: 1 }), 80).data), text)
})

test('a picture without a code, and one of another kind, are refused each with its reason', () => {
  assert.equal(read(encodeJpeg(scene(white, white), 80).data), 'no_code')
  assert.equal(read(new Uint8Array()), 'not_png_or_jpeg')
  for (const begins of ['GIF89a', 'RIFF....WEBP', '%PDF-1.7', '<svg'])
    assert.equal(read(Buffer.from(`${begins}${'x'.repeat(100)}`)), 'not_png_or_jpeg')
})

test('a picture that is cut off or altered never throws, whichever byte it is', () => {
  const jpeg = encodeJpeg(pixels, 60).data
  for (const whole of [ours, jpeg]) {
    for (const at of [8, 9, 20, 33, 60, Math.floor(whole.length / 2)])
      assert.notEqual(read(whole.subarray(0, at)), text, String(at))
    for (let round = 0; round < 10; round += 1) {
      const altered = Buffer.from(whole)
      altered[(round * 7919) % 700] = round * 37
      assert.equal(typeof read(altered), 'string')
    }
  }
  for (const begins of [ours.subarray(0, 33), jpeg.subarray(0, 4)])
    assert.equal(read(Buffer.concat([begins, randomBytes(2_000)])), 'broken')
})

test('a picture of too many pixels or bytes is refused before it is unpacked', () => {
  assert.equal(read(new Uint8Array(imageBytesMax + 1)), 'too_many_bytes')
  const large = Buffer.from(ours)
  large.writeUInt32BE(100_000, 16)
  large.writeUInt32BE(100_000, 20)
  assert.equal(read(large), 'too_many_pixels')
  const jpeg = Buffer.from(encodeJpeg(scene(black, white), 60).data)
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]))
  jpeg.writeUInt16BE(60_000, frame + 5)
  jpeg.writeUInt16BE(60_000, frame + 7)
  assert.equal(read(jpeg), 'too_many_pixels')
})

/** A chunk of a PNG. */
function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)])
}

// Where the pixels of each pass of Adam7 lie: from column and row, every so many (PNG, third edition, 8.2).
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** An interlaced PNG of the pixels, grey with so many bits each. */
function interlaced({ width, height, data }: ReturnType<typeof scene>, bits: 1 | 8): Buffer {
  const rows = passes.flatMap(([left, top, across, down]) => {
    const columns = Math.ceil((width - left) / across)
    return Array.from({ length: Math.ceil((height - top) / down) }, (_, row) => {
      const line = Buffer.alloc(1 + Math.ceil((columns * bits) / 8))
      for (let column = 0; column < columns; column += 1) {
        const grey = data[((top + row * down) * width + left + column * across) * 4] ?? 0
        if (bits === 8) line[1 + column] = grey
        else if (grey > 127) line[1 + (column >> 3)] = (line[1 + (column >> 3)] ?? 0) | (128 >> (column & 7))
      }
      return line
    })
  })
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, bits, 0, 0, 0, 1])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  const chunks = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([ours.subarray(0, 8), ...chunks])
}

test('a code is read from an interlaced PNG, whatever its size is', () => {
  const { width, height, data } = scene(black, white)
  for (const [bits, less] of [
    [8, 0],
    [1, 1],
    [1, 4],
    [1, 7],
  ] as const)
    assert.equal(read(interlaced({ width, height: height - less, data }, bits)), text, `${bits} ${less}`)
})

test('a PNG with a second header is not unpacked, for the first one has told its size', () => {
  const [begins, header, rest] = [ours.subarray(0, 8), ours.subarray(8, 33), ours.subarray(33)]
  assert.equal(read(Buffer.concat([begins, header, rest])), text)
  assert.equal(read(Buffer.concat([begins, header, header, rest])), 'broken')
})

test('a PNG that holds more than its header says is not unpacked, interlaced or not', () => {
  const bomb = chunk('IDAT', deflateSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 }))
  const held = process.memoryUsage().rss
  for (const method of [0, 1]) {
    const header = Buffer.from([0, 0, 0, 8, 0, 0, 0, 8, 8, 6, 0, 0, method])
    const picture = Buffer.concat([ours.subarray(0, 8), chunk('IHDR', header), bomb, chunk('IEND', Buffer.alloc(0))])
    assert.equal(read(picture), 'broken')
  }
  assert.ok(process.memoryUsage().rss - held < 48 * 1024 * 1024)
})
