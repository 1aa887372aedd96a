/**
 * Bytes that come in pieces, joined as they come: what many pieces take is what their bytes do, at most twice. Puts a piece behind the first
 * `length` bytes of `held` and hands back what holds both; of bytes beyond `bytesMax` none is kept. The piece's memory may be used again.
 */
export function joined(held: Buffer, length: number, piece: Uint8Array, bytesMax: number): Buffer {
  const end = Math.min(length + piece.length, bytesMax)
  let room = held
  if (end > held.length) {
    room = Buffer.allocUnsafe(Math.min(Math.max(end, 2 * held.length), bytesMax))
    room.set(held.subarray(0, length))
  }
  room.set(piece.subarray(0, end - length), length)
  return room
}
