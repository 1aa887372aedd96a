import { randomInt } from 'node:crypto'
import { argumentsOf } from '../../../scripts/arguments.ts'

/**
 * What a long run is told: how many rounds, where chance begins (a seed that was printed repeats its choices), and whatever else it has a
 * number of.
 */
export function soakArguments<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): Record<Name | 'seed', number> {
  const numbers: Record<string, number> = { ...defaults, seed: randomInt(2 ** 31) }
  const names = Object.keys(numbers)
  const usage = `Each takes a whole number: ${names.map((name) => `--${name}`).join(', ')}`
  const { values } = argumentsOf(usage, {
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  })
  for (const name of names) {
    const number = Number(values[name] ?? numbers[name])
    if (!Number.isSafeInteger(number) || number < (name === 'seed' ? 0 : 1))
      throw new Error(`--${name} takes a whole number`)
    numbers[name] = number
  }
  return numbers
}
