import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Why what needs certificates is left out; undefined where they can be made. */
export const noCertificates: string | undefined =
  spawnSync('openssl', ['version']).error === undefined ? undefined : 'TLS: there is no openssl'

/** An authority that nobody knows yet, and what it has signed: paths of PEM files, gone when disposed. */
export interface Authority extends AsyncDisposable {
  readonly ca: string
  /** A certificate of a host, and its key. */
  sign(host: string): { readonly cert: string; readonly key: string }
}

export async function createAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'kaha-tls-'))
  const at = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const [ca, caKey] = [at('ca.pem'), at('ca.key')]
  openssl('req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=An authority of our own', '-keyout', caKey, '-out', ca)
  return {
    ca,
    sign(host) {
      const [cert, key, request, names] = [at(`${host}.pem`), at(`${host}.key`), at(`${host}.csr`), at(`${host}.ext`)]
      writeFileSync(names, `subjectAltName=DNS:${host}\n`)
      openssl('req', ...newKey, '-subj', `/CN=${host}`, '-keyout', key, '-out', request)
      const by = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial']
      openssl('x509', '-req', '-in', request, ...by, '-days', '2', '-extfile', names, '-out', cert)
      return { cert, key }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
