#!/usr/bin/env node
// `kaha start`, `migrate`, `entities`, `keys`, `terminals`, `processes` and `attention` run the server's own program; commands that talk to a
// running Kaha use the SDK.
const [command, ...args] = process.argv.slice(2)

if (command === 'pay') {
  const { payCommand } = await import('./pay.ts')
  process.exitCode = await payCommand(args, process.env)
} else {
  await import('@kaha/server/main')
}
