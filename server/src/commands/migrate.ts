import type { Config } from '../config.ts'
import { StartFault } from '../kernel/fault.ts'
import { scrub } from '../kernel/log.ts'
import { joinDatabase, migrateOrExplain } from './database.ts'
import { say } from './words.ts'

/** Brings the schema up to date and says what was applied. */
export async function migrateCommand(config: Config, args: readonly string[]): Promise<void> {
  const unknown = args.find((one) => one !== '--json')
  if (unknown !== undefined)
    throw new StartFault(`kaha migrate takes no ${scrub(unknown)}; \`kaha migrate --help\` tells what it takes`)
  await using database = await joinDatabase(config, { begins: true })
  const applied = await migrateOrExplain(database.target)
  if (args.includes('--json')) say(JSON.stringify({ applied }))
  else say(applied.length === 0 ? 'The schema is up to date.' : applied.map((name) => `applied ${name}`).join('\n'))
}

export const migrateHelp = [
  'kaha migrate [--json]',
  '',
  'Brings the schema of the database up to date, as a start does. Stop all servers of an older version before: a migration may replace what',
  'they call, and names those that it finds. Several at once do no harm: one of them migrates, and the others wait.',
  '',
].join('\n')
