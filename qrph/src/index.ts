export { crc16 } from './crc.ts'
export { imageBytesMax } from './image-limit.ts'
export { qrPhRefusals, readQrPh, textCharactersMax, writeQrPh } from './qr-ph.ts'
export type { MerchantCode, QrPhCode, QrPhRefusal } from './qr-ph.ts'
