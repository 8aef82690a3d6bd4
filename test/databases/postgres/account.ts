import { readFileSync } from 'node:fs'

/** Who a process runs as. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** Postgres refuses to run as root: then it is one of these. */
const NAMES = ['postgres', 'nobody']

/** The account to start the server as; undefined unless the tests run as root. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of NAMES) {
    const [, , uid, gid] = accounts.find(([of]) => of === name) ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(
    `Cannot start Postgres: it does not run as root, and there is no account ${NAMES.join(' or ')}`,
  )
}
