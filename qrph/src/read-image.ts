import { inflateSync } from 'node:zlib'
import { decode as decodeJpeg } from 'jpeg-js'
import { PNG } from 'pngjs'
import { decodeQR, type Image } from 'qr/decode.js'
import { imageBytesMax } from './image-limit.ts'

// A phone's camera makes 12 million.
const imagePixelsMax = 16_000_000

const imageRefusals = ['too_many_bytes', 'not_png_or_jpeg', 'too_many_pixels', 'broken', 'no_code'] as const

/** Why a picture gives no text. */
export interface ImageRefusal {
  readonly reason: (typeof imageRefusals)[number]
  /** For a person. */
  readonly message: string
}

const messages: Readonly<Record<ImageRefusal['reason'], string>> = {
  too_many_bytes: 'The picture has more than 8 MiB.',
  not_png_or_jpeg: 'The picture is neither a PNG nor a JPEG.',
  too_many_pixels: 'The picture has more than 16 million pixels.',
  broken: 'The picture cannot be read: it is cut off, damaged, or of a kind that nobody uses for codes.',
  no_code: 'There is no QR code to be found in the picture.',
}

const memoryMegabytesMax = 384
const searchMsMax = 2_000
const white = 255

/**
 * The text of the QR code in a PNG or a JPEG. What is read is bounded before it is unpacked. It keeps a processor busy for up to a few seconds:
 * who reads pictures of strangers does it in a thread of its own. Never throws.
 */
export function readQrImage(bytes: Uint8Array): { readonly text: string } | { readonly refusal: ImageRefusal } {
  const refuse = (reason: ImageRefusal['reason']) => ({ refusal: { reason, message: messages[reason] } })
  if (bytes.length > imageBytesMax) return refuse('too_many_bytes')
  const picture = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const form = formOf(picture)
  if (form === undefined) return refuse('not_png_or_jpeg')
  const size = sizeIn(form, picture)
  if (size === undefined) return refuse('broken')
  if (size.width * size.height > imagePixelsMax) return refuse('too_many_pixels')
  const pixels = attempt(() => unpack[form](picture))
  if (pixels === undefined || pixels.width !== size.width || pixels.height !== size.height) return refuse('broken')
  const text = attempt(() =>
    decodeQR(onWhite(pixels), { format: 'RGBA', effort: 4, timeLimit: searchMsMax, textDecoder }),
  )
  return text === undefined || text === '' ? refuse('no_code') : { text }
}

const utf8 = new TextDecoder('utf-8')
const textDecoder = (bytes: Uint8Array): string => utf8.decode(bytes)

interface Size {
  readonly width: number
  readonly height: number
}

function formOf(picture: Buffer): 'png' | 'jpeg' | undefined {
  if (picture.subarray(0, 8).equals(pngBegins)) return 'png'
  return picture.subarray(0, 3).equals(jpegBegins) ? 'jpeg' : undefined
}

const pngBegins = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const jpegBegins = Buffer.from([0xff, 0xd8, 0xff])

/** As the header says it; undefined where it says none, or says what is not read here. */
function sizeIn(form: 'png' | 'jpeg', picture: Buffer): Size | undefined {
  const size = form === 'png' ? sizeOfPng(picture) : sizeOfJpeg(picture)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

/** The first chunk is the header (PNG, third edition). */
function sizeOfPng(picture: Buffer): Size | undefined {
  if (picture.length < 33 || picture.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) }
}

/** In the first segment that begins a frame (ITU-T T.81, B.2.2). A second one is none of a picture that is read here. */
function sizeOfJpeg(picture: Buffer): Size | undefined {
  for (let at = 2; at + 9 < picture.length && picture[at] === 0xff;) {
    const marker = picture[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1
      continue
    }
    const beginsFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (beginsFrame) return { height: picture.readUInt16BE(at + 5), width: picture.readUInt16BE(at + 7) }
    at += 2 + picture.readUInt16BE(at + 2)
  }
  return undefined
}

const chunkBytes = 12
const bytesPerPixelMax = 8

/** The library would believe the last of several headers, and unpacks interlaced rows without a bound: neither gets as far as that. */
function unpackPng(picture: Buffer): Image {
  const data: Buffer[] = []
  let name = ''
  for (let at = pngBegins.length; name !== 'IEND';) {
    const length = picture.readUInt32BE(at)
    name = picture.toString('latin1', at + 4, at + 8)
    if (name === 'IHDR' && at > pngBegins.length) throw new Error('a second header')
    if (name === 'IDAT') data.push(picture.subarray(at + 8, at + 8 + length))
    at += chunkBytes + length
  }
  const isInterlaced = picture[28] !== 0
  if (isInterlaced) {
    const { width, height } = sizeOfPng(picture) ?? { width: 0, height: 0 }
    // Seven passes have twice as many rows together, and each row begins with a byte for its filter and may end with a part of one.
    const maxOutputLength = width * height * bytesPerPixelMax + 4 * (height + 8)
    inflateSync(Buffer.concat(data), { maxOutputLength })
  }
  return PNG.sync.read(picture)
}

const unpack = {
  png: unpackPng,
  jpeg: (picture: Buffer): Image =>
    decodeJpeg(picture, {
      useTArray: true,
      maxResolutionInMP: imagePixelsMax / 1e6,
      maxMemoryUsageInMB: memoryMegabytesMax,
    }),
} as const

/** What is transparent is seen on white. */
function onWhite({ width, height, data }: Image): Image {
  for (let at = 3; at < data.length; at += 4) {
    const alpha = data[at] ?? white
    if (alpha === white) continue
    for (let channel = at - 3; channel < at; channel += 1)
      data[channel] = Math.round(((data[channel] ?? 0) * alpha + white * (white - alpha)) / white)
    data[at] = white
  }
  return { width, height, data }
}

function attempt<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
