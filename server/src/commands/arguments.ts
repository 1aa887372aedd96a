import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { StartFault } from '../kernel/fault.ts'

/** The arguments of a command; an option that it does not know is told in one line. */
export function argumentsOf<const Options extends ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [why = ''] = message.split('\n')
    // Node tells it of an option alone; what it says of other arguments is of no use here.
    const written = /^To specify an option argument starting with a dash use ('.*')\.$/m.exec(message)?.[1]
    const wayOut = written === undefined ? '' : `; a value that begins with a hyphen is given as ${written}`
    throw new StartFault(
      `${why.replace(/\.? To specify .*|\.$/, '')}${wayOut}; \`kaha ${command} --help\` tells what there is`,
      { cause: error },
    )
  }
}

/** Refuses an option that the action has no use for: left unread, it would be taken for heeded. All may have `json`. */
export function takesOnly(command: string, action: string, values: object, taken: readonly string[] = []): void {
  const other = Object.keys(values).find((name) => name !== 'json' && !taken.includes(name))
  if (other !== undefined)
    throw new StartFault(
      `\`kaha ${command} ${action}\` takes no --${other}; \`kaha ${command} --help\` tells what there is`,
    )
}
