import type { StandardSchemaV1 } from '../../api/standard-schema.ts'

/** The schemas of so many tokens are kept, the newest; others are checked by the JSON Schema that is stored with them. */
const MOST = 10_000

/** Schemas of code, by the tokens that this process has made with them. Storage has their JSON Schemas only. */
export class TokenSchemas {
  readonly #schemas = new Map<string, StandardSchemaV1>()

  keep({ id }: { readonly id: string }, schema: StandardSchemaV1): void {
    this.#schemas.set(id, schema)
    if (this.#schemas.size <= MOST) return
    for (const oldest of this.#schemas.keys()) {
      this.#schemas.delete(oldest)
      return
    }
  }

  of(token: string | { readonly id: string }): StandardSchemaV1 | undefined {
    return this.#schemas.size === 0
      ? undefined
      : this.#schemas.get(typeof token === 'string' ? token : token.id)
  }
}
