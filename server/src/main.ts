import { help, noSetting, say, startHelp, version, warn } from './commands/words.ts'
import { readConfig, unknownSettings, type Config } from './config.ts'
import { Fault, StartFault } from './kernel/fault.ts'

/** `kaha start | migrate | entities | keys | terminals | processes | attention`: one line and exit code 1 for whatever a person can mend. */
async function main([command = 'help', ...args]: readonly string[]): Promise<void> {
  const wantsHelp = ['--help', '-h'].some((flag) => args.includes(flag))
  const env = process.env
  // With one that is misspelt a command may be at work on another installation than the one that is meant.
  const settings = (): Config => {
    for (const name of unknownSettings(env)) warn(noSetting(name))
    return readConfig(env)
  }
  // Whoever reads what a command says, such as `head`, may have enough of it. `start` goes on whatever becomes of it.
  if (command !== 'start' || wantsHelp) process.stdout.once('error', tellUnlessUnread).on('error', () => {})
  // Each is loaded when it is asked for: all of the server takes longer than what most of them do.
  switch (command) {
    case 'start': {
      if (wantsHelp) return say(startHelp())
      const unknown = args.find((one) => one !== '--empty')
      if (unknown !== undefined)
        throw new StartFault(`kaha start takes no ${await shown(unknown)}; \`kaha start --help\` tells what it takes`)
      const config = readConfig(env)
      const { start } = await import('./commands/start.ts')
      return start(config, { empty: args.includes('--empty'), env })
    }
    case 'migrate': {
      const { migrateCommand, migrateHelp } = await import('./commands/migrate.ts')
      return wantsHelp ? say(migrateHelp) : migrateCommand(settings(), args)
    }
    case 'entities': {
      const { entitiesCommand, entitiesHelp } = await import('./commands/entities.ts')
      return wantsHelp ? say(entitiesHelp) : entitiesCommand(settings(), args)
    }
    case 'keys': {
      const { keysCommand, keysHelp } = await import('./commands/keys.ts')
      return wantsHelp ? say(keysHelp) : keysCommand(settings(), args)
    }
    case 'terminals': {
      const { terminalsCommand, terminalsHelp } = await import('./commands/terminals.ts')
      return wantsHelp ? say(terminalsHelp) : terminalsCommand(settings(), args)
    }
    case 'processes': {
      const { processesCommand, processesHelp } = await import('./commands/processes.ts')
      return wantsHelp ? say(processesHelp) : processesCommand(settings(), args)
    }
    case 'attention': {
      const { attentionCommand, attentionHelp } = await import('./commands/attention.ts')
      return wantsHelp ? say(attentionHelp) : attentionCommand(settings(), args)
    }
    case 'help':
    case '--help':
    case '-h':
      return say(help())
    case '--version':
    case '-v':
      return say(version())
    default:
      throw new StartFault(`there is no command ${await shown(command)}; \`kaha --help\` lists them`)
  }
}

/** What was typed, which may be a key. */
const shown = async (word: string) => (await import('./kernel/log.ts')).scrub(word)

function tellUnlessUnread({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return
  warn(`what the command says could not be written (${code ?? message}), and what it did is done: mend that first`)
  process.exitCode = 1
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  // A start that was asked to stop while it was under way has done what it was asked.
  const wasStopped = error instanceof Error && error.name === 'AbortError'
  const line = lineOf(error)
  if (line !== undefined) {
    warn(line)
    process.exitCode = 1
  } else if (!wasStopped) throw error
}

/** What a person can mend, in one line. */
function lineOf(error: unknown): string | undefined {
  if (error instanceof StartFault) return error.message
  if (!(error instanceof Fault) || error.code !== 'UNAVAILABLE') return undefined
  const cause = error.cause instanceof Error ? error.cause.message : error.message
  return `the database could be reached and then could not be used (${cause}): see to it, and start again`
}
