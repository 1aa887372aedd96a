import type { Queries } from '../src/kernel/db.ts'

/** Looks, or reaches, behind the platform's back. */
export const sql = <Row extends object = Record<string, never>>(
  on: Queries,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> => on.run<Row>({ name: '', text }, values)
