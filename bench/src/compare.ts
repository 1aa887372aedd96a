/** One of two things that are measured in turn. */
export interface Side {
  readonly name: string
  /** Resolves to how much it did in a second. */
  run(): Promise<number>
}

export interface Comparison {
  readonly ratio: number
  readonly ratioMin: number
  readonly ratioMax: number
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
  const ratios: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const of = await subject.run()
    const to = await yardstick.run()
    ratios.push(of / to)
    console.log(
      `  round ${round}: ${subject.name} ${whole(of)}/s, ${yardstick.name} ${whole(to)}/s, ratio ${(of / to).toFixed(2)}`,
    )
  }
  return { ratio: median(ratios), ratioMin: Math.min(...ratios), ratioMax: Math.max(...ratios) }
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
