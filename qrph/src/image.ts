import { crc32, deflateSync } from 'node:zlib'
import { encodeQR } from 'qr'

/** White modules around the code, as ISO/IEC 18004 asks for. */
export const quietModules = 4
const pixelsPerModule = 8

/**
 * A PNG of the text as a QR code: error correction M, a quiet zone of four modules, black and white at eight pixels a module. Throws
 * for a text that no QR code holds.
 */
export function qrPng(text: string): Buffer {
  return png(encodeQR(text, 'raw', { ecc: 'medium', border: quietModules }))
}

const drawnFirst = 8

/**
 * Draws a few for nobody. The first picture of a process takes 20 times as long as later ones, and nothing else happens meanwhile: whoever
 * serves others draws it before.
 */
export function readyQrPng(): void {
  for (let drawn = 0; drawn < drawnFirst; drawn += 1) qrPng(longText)
}

/** As long as the text of a code. */
const longText = '0'.repeat(250)

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
  for (const [index, row] of modules.entries()) {
    // Its first byte is the kind of the row's filter: none.
    const line = pixels.subarray(index * pixelsPerModule * rowBytes, (index * pixelsPerModule + 1) * rowBytes)
    line.fill(0xff, 1)
    for (const [column, isBlack] of row.entries()) if (isBlack) line[1 + column] = 0
    // The same as the row above it, and again.
    for (let copy = 1; copy < pixelsPerModule; copy += 1) pixels[(index * pixelsPerModule + copy) * rowBytes] = filterUp
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
