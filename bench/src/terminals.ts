import { issueTerminalKey } from '../../server/src/identity/issue.ts'
import { masterKeyIn } from '../../server/src/commands/data-dir.ts'
import { createDb } from '../../server/src/kernel/db.ts'
import { openInstallation } from '../../server/src/kernel/installation.ts'
import type { KahaProcess } from '../../server/test/faults/kaha-process.ts'
import type { Target } from './place.ts'
import type { Crowd } from './terminals-child.ts'

export const socketPath = '/terminal/v1'

/** The group of the seed's first merchant, and so many terminals in it, each with a key of its own. */
export async function issueTerminals(server: KahaProcess, target: Target, count: number): Promise<Crowd['terminals']> {
  const [merchant] = server.sandbox.merchants
  const [branch] = merchant?.branches ?? []
  if (merchant === undefined || branch === undefined) throw new Error('the seed has no shop')
  const about = { role: 'terminal', groupId: merchant.terminal_group.id, branchId: branch.id } as const
  await using db = createDb({ target, connectionsMax: 1, onError: () => {} })
  const keyring = await openInstallation(db, await masterKeyIn(server.dataDir), 'sandbox')
  return await db.tx(async (tx) => {
    const terminals: Crowd['terminals'][number][] = []
    const issuing = { keyring, keyPrefix: 'sk_test_' } as const
    while (terminals.length < count) {
      const { apiKey } = await issueTerminalKey(tx, issuing, about, new Date())
      terminals.push({ apiKey, deviceId: `T${terminals.length + 1}` })
    }
    return terminals
  })
}
