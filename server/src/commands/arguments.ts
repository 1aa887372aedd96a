import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { StartFault } from '../kernel/fault.ts'
import { isUuid } from '../kernel/ids.ts'
import { scrub } from '../kernel/log.ts'

/** The arguments of a command; an option that it does not know is told in one line. */
export function argumentsOf<const Options extends ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  options: Options,
) {
  try {
    const parsed = parseArgs({ args: [...args], allowPositionals: true, options, tokens: true })
    const names = parsed.tokens.flatMap((token) => (token.kind === 'option' ? token.name : []))
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) throw new StartFault(`--${twice} is given twice; once is enough`)
    return parsed
  } catch (error) {
    if (error instanceof StartFault) throw error
    const message = error instanceof Error ? error.message : String(error)
    const [why = ''] = message.split('\n')
    // Node tells it of an option alone; what it says of other arguments is of no use here.
    const written = /^To specify an option argument starting with a dash use ('.*')\.$/m.exec(message)?.[1]
    const wayOut = written === undefined ? '' : `; a value that begins with a hyphen is given as ${written}`
    const isName = /^Unknown option '-[^-]/.test(why)
    const last = isName ? '; what begins with a hyphen and is no option comes last, after ` -- `' : ''
    throw new StartFault(
      `${scrub(why.replace(/\.? To specify .*|\.$/, ''))}${wayOut}${last}; \`kaha ${command} --help\` tells what there is`,
      { cause: error },
    )
  }
}

/** An id as it was given. Where none was, `otherwise` asks for it; what is no id is told as that, with the commands that list such ids. */
export function idOf(given: string | undefined, otherwise: string, ...lists: readonly string[]): string {
  if (given === undefined || given === '') throw new StartFault(otherwise)
  if (isUuid(given)) return given
  const named = lists.map((list) => `\`${list}\``).join(' and ')
  throw new StartFault(`${told(given)} is no id; ${named} ${lists.length === 1 ? 'shows' : 'show'} them`)
}

/** What was given for an id, to be told: where it is a key, it must not get into a log. */
export const told = (given: string): string =>
  // Secrets of terminals and keys for Tokens are told by nothing but their length.
  /^[0-9A-Za-z]{32}$/.test(given) ? '[removed]' : scrub(given)

/** For an action that a command does not have, or more words than it takes. */
export const unknownAction = (command: string, words: readonly string[]): StartFault =>
  new StartFault(
    `there is no \`kaha ${command} ${scrub(words.join(' '))}\`; \`kaha ${command} --help\` lists what there is`,
  )

/** Refuses an option that the action has no use for: left unread, it would be taken for heeded. All may have `json`. */
export function takesOnly(command: string, action: string, values: object, taken: readonly string[] = []): void {
  const other = Object.keys(values).find((name) => name !== 'json' && !taken.includes(name))
  if (other !== undefined)
    throw new StartFault(
      `\`kaha ${command} ${action}\` takes no --${other}; \`kaha ${command} --help\` tells what there is`,
    )
}
