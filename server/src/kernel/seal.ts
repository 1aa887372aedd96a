import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'

/**
 * Everything that is derived from a key of 32 bytes: from the data key of a database and, to seal that one, from the master key. Sealing is
 * AES-256-GCM with the place of the value (row and column) as additional data, so that a sealed value moved elsewhere does not open.
 */
export interface Keyring {
  readonly keyId: string
  /** Tells the key without telling anything about it. */
  readonly fingerprint: Buffer
  seal(plain: string, place: string): Buffer
  /** Whether it names this key as the one that has sealed it. */
  hasSealed(sealed: Buffer): boolean
  /** Throws when the value was altered, moved or sealed with another key. */
  open(sealed: Buffer, place: string): string
  /** HMAC-SHA256 under a key of its own for each purpose. */
  mac(purpose: string, data: string): Buffer
}

const ivBytes = 12
const tagBytes = 16
const keyIdBytes = 4
const keyBytes = 32

/** The key in a text as people keep it, 32 bytes in padded base64; undefined where it is none. */
export function keyOf(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64')
  return key.length === keyBytes && key.toString('base64') === text ? key : undefined
}

export function createKeyring(key: Buffer): Keyring {
  if (key.length !== keyBytes) throw new Error('a key to derive others from must be 32 bytes')
  const derive = (label: string) => Buffer.from(hkdfSync('sha256', key, '', `kaha/${label}`, keyBytes))
  // Node prepares raw bytes anew for each use, which costs more than the use itself.
  const keyFor = (label: string) => createSecretKey(derive(label))
  const sealKey = keyFor('seal')
  const fingerprint = createHash('sha256').update(derive('fingerprint')).digest()
  const keyIdRaw = fingerprint.subarray(0, keyIdBytes)
  const macKeys = new Map<string, KeyObject>()
  const hasSealed = (sealed: Buffer) => sealed.subarray(0, keyIdBytes).equals(keyIdRaw)

  return {
    keyId: keyIdRaw.toString('hex'),
    fingerprint,
    hasSealed,
    seal(plain, place) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', sealKey, iv).setAAD(Buffer.from(place))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([keyIdRaw, iv, cipher.getAuthTag(), body])
    },
    open(sealed, place) {
      if (!hasSealed(sealed)) throw new Error('sealed with another key')
      const iv = sealed.subarray(keyIdBytes, keyIdBytes + ivBytes)
      const tag = sealed.subarray(keyIdBytes + ivBytes, keyIdBytes + ivBytes + tagBytes)
      const decipher = createDecipheriv('aes-256-gcm', sealKey, iv, { authTagLength: tagBytes })
        .setAAD(Buffer.from(place))
        .setAuthTag(tag)
      const body = sealed.subarray(keyIdBytes + ivBytes + tagBytes)
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
    },
    mac(purpose, data) {
      let macKey = macKeys.get(purpose)
      if (macKey === undefined) macKeys.set(purpose, (macKey = keyFor(`mac/${purpose}`)))
      return createHmac('sha256', macKey).update(data).digest()
    },
  }
}

export const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()
