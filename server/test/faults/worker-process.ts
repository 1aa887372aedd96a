import type { DeliveryRoom } from '../delivery-room.ts'
import { urlOf } from './database-of.ts'
import { startKahaProcess, type KahaProcess } from './kaha-process.ts'
import { withMutation, type Mutation } from './mutation.ts'

/** A Kaha that does nothing but a worker's work, in a process of its own, on the database of a delivery room. */
export function startWorkerProcess(
  { target, masterKey }: Pick<DeliveryRoom, 'target' | 'masterKey'>,
  dataDir: string,
  mutation?: Mutation,
): Promise<KahaProcess> {
  const { settings = {}, ...mutant } = withMutation(mutation)
  return startKahaProcess({
    dataDir,
    ...mutant,
    settings: {
      ...settings,
      KAHA_DATABASE_URL: urlOf(target),
      KAHA_MASTER_KEY: masterKey.toString('base64'),
      KAHA_ROLES: 'worker',
    },
  })
}
