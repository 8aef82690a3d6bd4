import { codeOf } from './errors.ts'
import type { OwnPool, PostgresPool, PostgresResult } from './pool.ts'
import { sha256 } from '../../primitives/digest.ts'

/** There is no prepared statement of that name, or there is one already that this connection does not know of. Nothing was done. */
const UNKNOWN_OR_TAKEN: ReadonlySet<unknown> = new Set(['26000', '42P05'])
/** A name of Postgres is shorter than 64 bytes. */
const LONGEST_DIGEST = 32

/**
 * Asks statements that each connection prepares once. Later the server neither parses nor plans them. When it turns out that
 * statements are not kept, because something between here and the server shares its connections, they are asked as they are.
 */
export class PreparedStatements implements Pick<PostgresPool, 'query'> {
  readonly #pool: OwnPool
  readonly #names = new Map<string, string>()
  #areKept = true

  constructor(pool: OwnPool) {
    this.#pool = pool
  }

  async query(text: string, values: unknown[] = []): Promise<PostgresResult> {
    if (!this.#areKept) return this.#pool.query(text, values)
    try {
      return await this.#pool.query({ name: this.#nameOf(text), text, values })
    } catch (error) {
      if (!UNKNOWN_OR_TAKEN.has(codeOf(error))) throw error
      this.#areKept = false
      return this.#pool.query(text, values)
    }
  }

  /** By the text: a connection that is shared after all knows other statements by other names. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `waitpoint ${sha256(text, 'hex').slice(0, LONGEST_DIGEST)}`
    this.#names.set(text, name)
    return name
  }
}
