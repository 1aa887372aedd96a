/** How a virtual terminal behaves. */
export interface Script {
  /** What it reports at once, or after so many seconds of business time; nothing where it never does. */
  readonly reports: 'SUCCESS' | 'FAILED' | 'CANCELLED' | null
  readonly afterSeconds?: number
  readonly twice?: true
  /** Its line is lost when the payment arrives, and back after so many seconds of business time. */
  readonly dropsForSeconds?: number
  readonly staysOffline?: true
  /** Whether it heeds a cancel before it has a result. */
  readonly heedsCancel?: true
  readonly says: string
}

/** The scripts by device id. A device id may go on after a hyphen, for several of a kind. */
export const scripts: Readonly<Record<string, Script>> = {
  'sim-approve': { reports: 'SUCCESS', says: 'approves' },
  'sim-decline': { reports: 'FAILED', says: 'declines' },
  'sim-cancel': { reports: 'CANCELLED', says: 'cancels' },
  'sim-slow-80s': {
    reports: 'SUCCESS',
    afterSeconds: 80,
    heedsCancel: true,
    says: 'approves after 80 s, and heeds a cancel before that',
  },
  'sim-silent': { reports: null, says: 'never answers' },
  'sim-offline': { reports: null, staysOffline: true, says: 'is offline' },
  'sim-drop-30s': {
    reports: 'SUCCESS',
    dropsForSeconds: 30,
    says: 'loses its line in mid-payment, is back after 30 s',
  },
  'sim-drop-75s': {
    reports: 'SUCCESS',
    dropsForSeconds: 75,
    says: 'loses its line in mid-payment, is back after 75 s, past the grace: VOIDED',
  },
  'sim-dup-result': { reports: 'SUCCESS', twice: true, says: 'sends its result twice' },
  'sim-late-success': {
    reports: 'SUCCESS',
    afterSeconds: 100,
    says: 'approves after 100 s, when the payment was given up: VOIDED',
  },
}

/** The script of a device id, if it has one. */
export function scriptOf(deviceId: string): Script | undefined {
  const name = Object.keys(scripts)
    .filter((one) => deviceId === one || deviceId.startsWith(`${one}-`))
    .toSorted((one, other) => other.length - one.length)[0]
  return name === undefined ? undefined : scripts[name]
}
