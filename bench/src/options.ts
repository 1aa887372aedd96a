export interface Options {
  readonly rounds: number
  /** Of each side in each round, where a side is measured by time. */
  readonly seconds: number
  /** How many events or rows; each benchmark says which. */
  readonly size: number
  /** Where the measured server leaves a CPU profile. */
  readonly profileDir: string | undefined
}
