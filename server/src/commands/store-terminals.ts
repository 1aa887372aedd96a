import { statement, type Queries } from '../kernel/db.ts'

export interface DeviceRow {
  readonly key_id: string
  /** Null of a terminal that gave none. */
  readonly device_id: string | null
  readonly status: string
  readonly last_activity_at: Date
}

const listDevices = statement(
  'commands.listDevices',
  'select key_id, device_id, status, last_activity_at from terminals.list_devices($1)',
)
const listSockets = statement('commands.listSockets', 'select key_id, connected_at from terminals.list_sockets($1)')
const disconnect = statement('commands.disconnect', 'select terminals.disconnect($1) as told')
const moveDevice = statement('commands.moveDevice', 'select terminals.move_device($1, $2, $3, $4) as outcome')
const describeDevice = statement('commands.describeDevice', 'select terminals.describe_device($1, $2, $3) as described')

export const operatorStore = {
  /** What these keys have connected as. */
  listDevices: (on: Queries, keyIds: readonly string[]) => on.run<DeviceRow>(listDevices, [keyIds]),
  /** Those of these keys that have a socket. */
  listSockets: (on: Queries, keyIds: readonly string[]) =>
    on.run<{ readonly key_id: string; readonly connected_at: Date }>(listSockets, [keyIds]),
  /** False where the key has no socket. */
  disconnect: async (on: Queries, keyId: string): Promise<boolean> =>
    (await on.run<{ told: boolean }>(disconnect, [keyId]))[0]?.told ?? false,
  /** False where the group has no such device. `metadata` is the text of a JSON object. */
  describeDevice: async (on: Queries, groupId: string, device: string, metadata: string): Promise<boolean> =>
    (await on.run<{ described: boolean }>(describeDevice, [groupId, device, metadata]))[0]?.described ?? false,
  moveDevice: async (on: Queries, groupId: string, device: string, toKey: string, devicesMax: number) =>
    (await on.run<{ outcome: 'moved' | 'unknown' | 'full' }>(moveDevice, [groupId, device, toKey, devicesMax]))[0]
      ?.outcome,
}
