import type { Comparison } from './compare.ts'

/** What was promised of a figure, and what it came to. */
export interface Bound {
  readonly what: string
  readonly figure: string
  readonly limit: string
  readonly holds: boolean
}

export const atLeast = (what: string, figure: number, limit: number, unit = ''): Bound => ({
  what,
  figure: `${show(figure)}${unit}`,
  limit: `at least ${show(limit)}${unit}`,
  holds: figure >= limit,
})

export const atMost = (what: string, figure: number, limit: number, unit = ''): Bound => ({
  what,
  figure: `${show(figure)}${unit}`,
  limit: `at most ${show(limit)}${unit}`,
  holds: figure <= limit,
})

export function ratioAtLeast(what: string, { ratio, ratioMin, ratioMax }: Comparison, limit: number): Bound {
  const bound = atLeast(what, ratio, limit)
  return { ...bound, figure: `${bound.figure} (${show(ratioMin)}–${show(ratioMax)})` }
}

const show = (figure: number): string => (Math.abs(figure) >= 100 ? figure.toFixed(0) : figure.toFixed(2))

export function tell({ what, figure, limit, holds }: Bound): void {
  console.log(`  ${holds ? 'holds' : 'DOES NOT HOLD'}: ${what} ${figure}, ${limit}`)
}
