/** How much was done in how long. */
export interface Done {
  readonly count: number
  readonly seconds: number
}

/** One of the things that are measured in turn. */
export interface Side {
  readonly name: string
  /** What is to be there before, and is not measured. */
  prepare?(): Promise<void>
  run(): Promise<Done>
  /** CPU time used so far in ms by the processes that take part. Tells where the time goes, whatever else the machine does. */
  cpuMs(): Readonly<Record<string, number>>
}

export interface Comparison {
  /** The subject's own rate, in the middle. */
  readonly perSecond: number
  readonly ratio: number
  readonly ratioMin: number
  readonly ratioMax: number
}

interface Measured {
  readonly perSecond: number
  /** For one, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
}

interface Rounds {
  readonly rounds: number
  readonly warmUps?: number
}

/** Runs both in turn after a warm-up and tells each round: what else the machine does meets both alike. */
export async function compare(subject: Side, yardstick: Side, rounds: Rounds): Promise<Comparison> {
  return comparisonWith(await compareAll(subject, [yardstick], rounds), yardstick)
}

/** The same with several yardsticks, each of which the subject is compared with. */
export async function compareAll(
  subject: Side,
  yardsticks: readonly Side[],
  { rounds, warmUps = 1 }: Rounds,
): Promise<ReadonlyMap<Side, Comparison>> {
  const sides = [subject, ...yardsticks]
  const measured = new Map(sides.map((side): [Side, Measured[]] => [side, []]))
  for (let warmUp = 0; warmUp < warmUps; warmUp += 1) {
    for (const side of sides) await measure(side)
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const side of sides) measured.get(side)?.push(await measure(side))
    const rates = sides.map((side) => `${side.name} ${whole(rateOf(measured, side))}/s`)
    const ratios = yardsticks.map((one) => (rateOf(measured, subject) / rateOf(measured, one)).toFixed(2))
    console.log(
      `  round ${round}: ${rates.join(', ')}; ${ratios.length === 1 ? 'ratio' : 'ratios'} ${ratios.join(', ')}`,
    )
  }
  console.log(`  CPU for one: ${sides.map((side) => cpuOf(side, measured.get(side) ?? [])).join('; ')}`)
  const own = measured.get(subject) ?? []
  const perSecond = median(own.map((one) => one.perSecond))
  return new Map(
    yardsticks.map((yardstick): [Side, Comparison] => {
      const others = measured.get(yardstick) ?? []
      const ratios = own.map((one, round) => one.perSecond / (others[round]?.perSecond ?? Number.NaN))
      return [
        yardstick,
        { perSecond, ratio: median(ratios), ratioMin: Math.min(...ratios), ratioMax: Math.max(...ratios) },
      ]
    }),
  )
}

/** Of what `compareAll` found, the part about one yardstick. */
export function comparisonWith(compared: ReadonlyMap<Side, Comparison>, yardstick: Side): Comparison {
  const comparison = compared.get(yardstick)
  if (comparison === undefined) throw new Error(`nothing was compared with ${yardstick.name}`)
  return comparison
}

/** In the last round so far. */
const rateOf = (measured: ReadonlyMap<Side, readonly Measured[]>, side: Side): number =>
  measured.get(side)?.at(-1)?.perSecond ?? Number.NaN

async function measure(side: Side): Promise<Measured> {
  await side.prepare?.()
  const before = side.cpuMs()
  const { count, seconds } = await side.run()
  const used = Object.entries(side.cpuMs()).map(([name, ms]) => [name, (ms - (before[name] ?? 0)) / count])
  return { perSecond: count / seconds, cpuMs: Object.fromEntries(used) as Record<string, number> }
}

function cpuOf({ name }: Side, measured: readonly Measured[]): string {
  const processes = Object.keys(measured[0]?.cpuMs ?? {})
  const parts = processes.map((one) => {
    const ms = median(measured.map(({ cpuMs }) => cpuMs[one] ?? 0))
    return `${one} ${ms.toFixed(3)} ms`
  })
  return `${name}: ${parts.join(', ')}`
}

const whole = (number: number): string => Math.round(number).toLocaleString('en')

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}

/** The smallest number that at least this part of them does not exceed. */
export function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN
}

/** Times in ms, as they are told; the middle one with so many digits. */
export const quantiles = (ms: readonly number[], digits = 1): string =>
  `p50 ${median(ms).toFixed(digits)} ms, p99 ${quantile(ms, 0.99).toFixed(1)} ms, most ${Math.max(...ms).toFixed(1)} ms`
