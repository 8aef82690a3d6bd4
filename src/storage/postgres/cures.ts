/** What an error of the driver says of itself. */
interface DriverError {
  readonly message?: unknown
  readonly code?: unknown
}

const CERTIFICATE =
  'the certificate of the server is of an authority that is not known here: name its certificate with ' +
  '`sslmode=verify-full&sslrootcert=/path/ca.pem` in the connection string, or give a pool with `ssl: { ca }`'
const CREDENTIALS = 'check the user and the password in the connection string, or those of the pool'
const ADDRESS = 'check the host in the connection string'
const TOO_MANY =
  'each process has up to `connections` + 2: give it fewer, let a pooler share them, or raise max_connections or the limit of the role'

/** The cure for each error with a code: five characters of Postgres, or a name of Node. */
const BY_CODE: ReadonlyMap<unknown, string> = new Map([
  [
    'ECONNREFUSED',
    'no server listens there: check that it runs, and the host and the port in the connection string',
  ],
  ['ENOENT', 'no server listens there: check that it runs, and its socket'],
  ['ENOTFOUND', ADDRESS],
  ['EAI_AGAIN', ADDRESS],
  ['28P01', CREDENTIALS],
  ['3D000', 'create the database, or name another one in the connection string'],
  ['53300', TOO_MANY],
  ['57P03', 'it starts or stops just now'],
  ['25006', 'name the primary server: this one is a replica or was made read-only'],
  ['57014', 'if it was the time limit, raise `statementTimeoutMs`, or the statement_timeout of the role'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', CERTIFICATE],
  ['SELF_SIGNED_CERT_IN_CHAIN', CERTIFICATE],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', CERTIFICATE],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', CERTIFICATE],
  ['CERT_HAS_EXPIRED', 'have the certificate of the server renewed'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'connect to the name that is in the certificate of the server'],
])

/** The cure for errors that a code does not tell apart. */
const BY_MESSAGE: readonly (readonly [message: RegExp, cure: string])[] = [
  [
    /^no pg_hba\.conf entry .*no encryption$/,
    'the server may want TLS: add `sslmode=verify-full` to the connection string, or give a pool with `ssl`',
  ],
  [/^no pg_hba\.conf entry /, 'let this user in from this address in pg_hba.conf of the server'],
  [
    /^The server does not support SSL connections$/,
    'leave `sslmode` out of the connection string, or have the server use TLS',
  ],
  [/^SASL: .*client password must be a string$/, CREDENTIALS],
  [/^password authentication failed /, CREDENTIALS],
  [
    /^timeout exceeded when trying to connect$/,
    'all connections of the pool are in use: release those that are lent, let the pool have more, or give the storage a pool of its own',
  ],
  [
    /^Connection terminated due to connection timeout$/,
    'the server did not answer: check the host and the port in the connection string, and the firewalls in between',
  ],
  [
    /^Cannot use a pool after calling end on the pool$/,
    'end the pool once all engines that use it have closed',
  ],
  [
    /^unsupported startup parameter/,
    'a pooler is in between: leave `statementTimeoutMs` out, and give the role a statement_timeout instead',
  ],
]

/** What to do about an error of the driver or the server; `undefined` if its message says enough. */
export function cureOf(error: unknown): string | undefined {
  const { message, code } = (error ?? {}) as DriverError
  if (typeof message === 'string') {
    const found = BY_MESSAGE.find(([pattern]) => pattern.test(message))
    if (found !== undefined) return found[1]
  }
  return BY_CODE.get(code)
}
