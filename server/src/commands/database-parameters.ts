import { StartFault } from '../kernel/fault.ts'

// What PQconndefaults tells in version 18, `ssl` of a URI, and what others had or have (requiressl, servicefile). The driver reads some of
// them; the others have no effect, and stand in addresses that are made for every client.
const ofLibpq = `
  application_name channel_binding client_encoding connect_timeout dbname fallback_application_name gssdelegation gssencmode gsslib host hostaddr
  keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts max_protocol_version min_protocol_version
  oauth_client_id oauth_client_secret oauth_issuer oauth_scope options passfile password port replication require_auth requirepeer requiressl
  scram_client_key scram_server_key service servicefile ssl ssl_max_protocol_version ssl_min_protocol_version sslcert sslcertmode sslcompression
  sslcrl sslcrldir sslkey sslkeylogfile sslmode sslnegotiation sslpassword sslrootcert sslsni target_session_attrs tcp_user_timeout user`

// What pg and pg-connection-string read besides.
const ofDriver = `
  binary connectionTimeoutMillis database idle_in_transaction_session_timeout keepAlive keepAliveInitialDelayMillis lock_timeout query_timeout
  statement_timeout uselibpqcompat`

const known = new Set(`${ofLibpq}${ofDriver}`.trim().split(/\s+/))

// Those of libpq, and what the driver calls TLS whose certificate is not verified.
const tlsModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

const secrets = /password|secret|_key$/i

/**
 * Throws a StartFault for a parameter that nobody knows: the driver leaves it out without a word, and the connection without TLS. An empty mode
 * of TLS, or the last of two, does the same.
 */
export function refuseUnknownParameters({ search, searchParams }: URL): void {
  const unknown = [...searchParams.keys()].find((name) => !known.has(name))
  if (unknown === undefined) return refuseUnknownTls(searchParams.getAll('sslmode'))
  const meant = [...known].find((name) => name.toLowerCase() === unknown.toLowerCase())
  if (meant !== undefined)
    throw new StartFault(`KAHA_DATABASE_URL has a parameter ${unknown}, which nobody knows: ${meant} is meant`)
  // It may be what follows a bare & or ? of a password, or of another secret.
  const mayBeSecret = search.includes('@') || [...searchParams.keys()].some((name) => secrets.test(name))
  const name = mayBeSecret ? '' : ` ${unknown}`
  throw new StartFault(
    `KAHA_DATABASE_URL has a parameter${name} that neither PostgreSQL nor its driver knows: correct it, or leave it out; an & in a value is written as %26`,
  )
}

function refuseUnknownTls(modes: readonly string[]): void {
  if (modes.length > 1) throw new StartFault('KAHA_DATABASE_URL has sslmode more than once: leave one')
  if (modes.some((mode) => !tlsModes.includes(mode)))
    throw new StartFault(
      `KAHA_DATABASE_URL has an sslmode that is none: write ${tlsModes.slice(0, -1).join(', ')} or ${tlsModes.at(-1)}`,
    )
}
