import { crc32, deflateSync } from 'node:zlib'
import { correction, generate, mode } from 'lean-qr'
import { encodeQR } from 'qr'

/** White modules around the code, as ISO/IEC 18004 asks for. */
export const quietModules = 4
const pixelsPerModule = 8

/**
 * A PNG of the text as a QR code: error correction M, a quiet zone of four modules, black and white at eight pixels a module. Throws
 * for a text that no QR code holds.
 */
export function qrPng(text: string): Buffer {
  return png(isAscii.test(text) ? encodeQR(text, 'raw', { ecc: 'medium', border: quietModules }) : modulesOfUtf8(text))
}

const isAscii = /^\p{ASCII}*$/u

/** With an ECI that says so (ISO/IEC 18004, 7.4.3), which `qr` does not write: without it readers guess, and some take ñ for Chinese. */
function modulesOfUtf8(text: string): boolean[][] {
  const code = generate(mode.utf8(text), { minCorrectionLevel: correction.M, maxCorrectionLevel: correction.M })
  const along = Array.from({ length: code.size + 2 * quietModules }, (_, index) => index - quietModules)
  return along.map((y) => along.map((x) => code.get(x, y)))
}

const drawnFirst = 8
let drawn = 0

/**
 * Draws a few for nobody. The first picture of a process takes 20 times as long as later ones, and nothing else happens meanwhile: whoever
 * serves others draws it before. Again in the same process it does nothing.
 */
export function readyQrPng(): void {
  for (; drawn < drawnFirst; drawn += 1) for (const text of [longText, `${longText}Ñ`]) qrPng(text)
}

/** As long as the text of a code, and of such characters: digits alone would be drawn in another way. */
const longText = '0011ph.ppmi.p2m'.repeat(15)

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const bitsPerPixel = 1
const grey = 0
const filterUp = 2
// Ten times as fast as the default, for half as much again in length.
const level = 1

/** Black where true (PNG, third edition, with one bit a pixel). */
function png(modules: readonly (readonly boolean[])[]): Buffer {
  const side = modules.length * pixelsPerModule
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header[8] = bitsPerPixel
  header[9] = grey
  const rowBytes = 1 + Math.ceil(side / 8)
  const pixels = Buffer.alloc(rowBytes * side)
  // Written for speed: this is what the server's event loop waits for.
  for (let index = 0; index < modules.length; index += 1) {
    const row = modules[index] ?? []
    // The first byte of a row is the kind of its filter: none.
    const at = index * pixelsPerModule * rowBytes
    pixels.fill(0xff, at + 1, at + rowBytes)
    for (let column = 0; column < row.length; column += 1) if (row[column]) pixels[at + 1 + column] = 0
    // The same as the row above it, and again.
    for (let copy = 1; copy < pixelsPerModule; copy += 1) pixels[at + copy * rowBytes] = filterUp
  }
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels, { level })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(12 + data.length)
  whole.writeUInt32BE(data.length, 0)
  whole.write(name, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length)
  return whole
}
