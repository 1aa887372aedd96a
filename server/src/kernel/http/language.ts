import type { Language } from '../money.ts'

export const queryOf = (request: { url: string }): URLSearchParams =>
  new URLSearchParams(request.url.split('?')[1] ?? '')

/** The language that was asked for in the address, else the first of the browser's that we have. */
export function languageOf(request: { url: string; headers: { 'accept-language'?: string | undefined } }): Language {
  const asked = queryOf(request).get('lang')
  if (asked === 'en' || asked === 'fil') return asked
  for (const one of (request.headers['accept-language'] ?? '').split(',')) {
    const language = one.trim().split(/[-;]/)[0]?.toLowerCase()
    if (language === 'fil' || language === 'tl') return 'fil'
    if (language === 'en') return 'en'
  }
  return 'en'
}
