import { parseArgs, type ParseArgsConfig } from 'node:util'

/** The arguments of a script. One that it does not know ends it with exit code 1, in words and with what it takes. */
export function argumentsOf<const Config extends ParseArgsConfig>(usage: string, config: Config) {
  try {
    return parseArgs(config)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    console.error(`kaha: ${why.replace(/\.? To specify .*|\.$/s, '')}\n\n${usage}`)
    return process.exit(1)
  }
}
