import type { Language } from '../language.ts'

export const queryOf = (request: { url: string }): URLSearchParams =>
  new URLSearchParams(request.url.split('?')[1] ?? '')

/** The language that was asked for in the address, else that of ours which the browser likes most (RFC 9110, 12.5.4). */
export function languageOf(request: { url: string; headers: { 'accept-language'?: string | undefined } }): Language {
  const asked = queryOf(request).get('lang')
  if (asked === 'en' || asked === 'fil') return asked
  const wanted = (request.headers['accept-language'] ?? '').split(',').flatMap((one) => {
    const [range = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    const language = languages[range.split('-')[0] ?? '']
    const weight = Number(parameters.find((part) => part.startsWith('q='))?.slice(2) ?? 1)
    return language === undefined || !(weight > 0) ? [] : [{ language, weight }]
  })
  return wanted.toSorted((one, other) => other.weight - one.weight)[0]?.language ?? 'en'
}

const languages: Readonly<Record<string, Language>> = { fil: 'fil', tl: 'fil', en: 'en' }
