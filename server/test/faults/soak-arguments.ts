import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

/** What a long run is told: how many rounds, and where chance begins; a seed that was printed repeats its choices. */
export function soakArguments(defaults: { readonly rounds: number }): { rounds: number; seed: number } {
  const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
  const rounds = Number(values.rounds ?? defaults.rounds)
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  if (!Number.isSafeInteger(rounds) || rounds < 1 || !Number.isSafeInteger(seed) || seed < 0)
    throw new Error('--rounds and --seed take whole numbers')
  return { rounds, seed }
}
