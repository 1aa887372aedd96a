import type { Config } from '../config.ts'
import { listProcesses } from '../kernel/processes.ts'
import { argumentsOf, unknownAction } from './arguments.ts'
import { withDatabase } from './database.ts'
import { say } from './words.ts'

export const processesHelp = [
  'kaha processes list [--json]    who works with the database now: the processes, their roles, and where they are',
  '',
].join('\n')

/** Lists the processes of the installation, beside them or without any. */
export async function processesCommand(config: Config, args: readonly string[]): Promise<void> {
  const { values, positionals } = argumentsOf('processes', args, { json: { type: 'boolean' } })
  const [action = 'list', ...more] = positionals
  if (action !== 'list' || more.length > 0) throw unknownAction('processes', positionals)
  await withDatabase(config, { begins: false }, async (db) => {
    const rows = await listProcesses(db)
    if (values.json === true)
      return say(JSON.stringify(rows.map(({ roles, ...row }) => ({ ...row, roles: roles.split(',') }))))
    if (rows.length === 0) return say('There is none: `kaha start` begins one.')
    const width = Math.max(...rows.map(({ name }) => name.length))
    say(`${'PROCESS'.padEnd(width)}  ${'ROLES'.padEnd(18)}  FROM`)
    for (const { name, roles, address } of rows)
      say(`${name.padEnd(width)}  ${roles.padEnd(18)}  ${address ?? 'the machine of the database'}`)
  })
}
