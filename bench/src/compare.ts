/** How much was done in how long. */
export interface Done {
  readonly count: number
  readonly seconds: number
}

/** One of two things that are measured in turn. */
export interface Side {
  readonly name: string
  run(): Promise<Done>
  /** CPU time used so far in ms by the processes that take part. Tells where the time goes, whatever else the machine does. */
  cpuMs(): Readonly<Record<string, number>>
}

export interface Comparison {
  readonly ratio: number
  readonly ratioMin: number
  readonly ratioMax: number
}

interface Measured {
  readonly perSecond: number
  /** For one, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
}

/** Runs both in turn after a warm-up and tells each round: what else the machine does meets both alike. */
export async function compare(
  subject: Side,
  yardstick: Side,
  { rounds, warmUps = 1 }: { rounds: number; warmUps?: number },
): Promise<Comparison> {
  for (let warmUp = 0; warmUp < warmUps; warmUp += 1) {
    await subject.run()
    await yardstick.run()
  }
  const subjects: Measured[] = []
  const yardsticks: Measured[] = []
  const ratios: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const of = await measure(subject)
    const to = await measure(yardstick)
    subjects.push(of)
    yardsticks.push(to)
    const ratio = of.perSecond / to.perSecond
    ratios.push(ratio)
    console.log(
      `  round ${round}: ${subject.name} ${whole(of.perSecond)}/s, ${yardstick.name} ${whole(to.perSecond)}/s, ratio ${ratio.toFixed(2)}`,
    )
  }
  console.log(`  CPU for one: ${cpuOf(subject, subjects)}; ${cpuOf(yardstick, yardsticks)}`)
  return { ratio: median(ratios), ratioMin: Math.min(...ratios), ratioMax: Math.max(...ratios) }
}

async function measure(side: Side): Promise<Measured> {
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
