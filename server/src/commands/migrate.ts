import type { Config } from '../config.ts'
import { joinDatabase, migrateOrExplain } from './database.ts'
import { say } from './words.ts'

/** Brings the schema up to date and says what was applied. */
export async function migrateCommand(config: Config, options: { json: boolean }): Promise<void> {
  await using database = await joinDatabase(config)
  const applied = await migrateOrExplain(database.target)
  if (options.json) say(JSON.stringify({ applied }))
  else say(applied.length === 0 ? 'The schema is up to date.' : applied.map((name) => `applied ${name}`).join('\n'))
}

export const migrateHelp =
  'kaha migrate [--json]\n\nBrings the schema of the database up to date. Safe beside running servers.\n'
