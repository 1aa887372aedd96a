import { terminalFrameBytesMax, type TerminalAnswer } from '@kaha/contract'

type PaymentComplete = TerminalAnswer['paymentComplete']

const shortCharacters = 255

const isLonger = (text: string): boolean =>
  text.length > terminalFrameBytesMax || Buffer.byteLength(text) > terminalFrameBytesMax

/**
 * The push such that it fits into one frame. The metadata is the till's own and stays; a receipt is of no use in part, so it is left out where
 * it does not fit, and whoever asks for the transaction has it.
 */
export function fitting(push: PaymentComplete): PaymentComplete {
  if (!isLonger(JSON.stringify(push))) return push
  const { receiptData: _, ...paymentResponse } = push.paymentResponse
  const without = { ...push, paymentResponse }
  const { errorMessage } = paymentResponse
  if (errorMessage === undefined || !isLonger(JSON.stringify(without))) return without
  const short = errorMessage.slice(0, shortCharacters).toWellFormed()
  return { ...push, paymentResponse: { ...paymentResponse, errorMessage: short } }
}

/** A message in frames that are none too long: one but for long lists of terminals (RFC 6455, 5.4). */
export function framesOf(text: string): { readonly part: string | Buffer; readonly fin: boolean }[] {
  if (!isLonger(text)) return [{ part: text, fin: true }]
  const bytes = Buffer.from(text)
  const frames = []
  for (let from = 0; from < bytes.length; from += terminalFrameBytesMax) {
    const to = from + terminalFrameBytesMax
    frames.push({ part: bytes.subarray(from, to), fin: to >= bytes.length })
  }
  return frames
}
