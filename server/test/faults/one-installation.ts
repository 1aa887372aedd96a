import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshDatabase } from '../cluster.ts'
import { urlOf } from './database-of.ts'
import { startKahaProcess, type KahaProcess } from './kaha-process.ts'
import { withMutation, type Mutation } from './mutation.ts'

/** One database and one master key, for processes of which one is killed and another goes on. They end with `held`. */
export async function oneInstallation(
  held: AsyncDisposableStack,
  mutation?: Mutation,
  more: Readonly<Record<string, string>> = {},
) {
  const { target } = held.use(await freshDatabase())
  const folder = await mkdtemp(join(tmpdir(), 'kaha-killed-'))
  held.defer(() => rm(folder, { recursive: true, force: true }))
  const { nodeArgs, settings } = withMutation(mutation)
  const base = {
    ...more,
    KAHA_DATABASE_URL: urlOf(target),
    KAHA_MASTER_KEY: randomBytes(32).toString('base64'),
    ...settings,
  }
  const start = async (roles: string): Promise<KahaProcess> =>
    held.use(
      await startKahaProcess({
        dataDir: join(folder, randomUUID()),
        settings: { ...base, KAHA_ROLES: roles },
        ...(nodeArgs === undefined ? {} : { nodeArgs }),
      }),
    )
  return { target, start }
}
