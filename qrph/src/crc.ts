const polynomial = 0x1021
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 8
  for (let bit = 0; bit < 8; bit += 1) value = value & 0x8000 ? (value << 1) ^ polynomial : value << 1
  return value
})
const utf8 = new TextEncoder()

/** CRC-16/CCITT-FALSE over the UTF-8 bytes of a text, in four upper-case hex digits. Of `123456789` it is `29B1`. */
export function crc16(text: string): string {
  let crc = 0xffff
  for (const byte of utf8.encode(text)) crc = ((crc << 8) ^ (table[(crc >> 8) ^ byte] ?? 0)) & 0xffff
  return crc.toString(16).toUpperCase().padStart(4, '0')
}
