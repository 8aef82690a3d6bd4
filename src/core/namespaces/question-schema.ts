import type { StandardSchemaV1 } from '../../api/standard-schema.ts'

/** The schemas of so many tokens are kept, the newest; others are checked by the JSON Schema that is stored with them. */
const MOST = 10_000

/** On a token: the schema that its caller has for its answer. On options of `createToken`: the id of their definition. */
export const DEFINED: unique symbol = Symbol('defined by a question')

/** A token or options that come from the definition of a question. */
export interface Defined<What> {
  readonly [DEFINED]?: What | undefined
}

/** The schemas of the definitions in this process, by their ids: an answer is checked by them, whichever way it came. */
const defined = new Map<string, StandardSchemaV1 | undefined>()

/** Keeps the schema of a definition. One that is defined again, as a file that is loaded anew does, counts from then on. */
export function define(id: string, schema: StandardSchemaV1 | undefined): void {
  defined.set(id, schema)
}

export function definedSchema(id: string | undefined): StandardSchemaV1 | undefined {
  return id === undefined ? undefined : defined.get(id)
}

/** Schemas of code, by the tokens that this engine has made with them. Storage has their JSON Schemas only. */
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

  /** A token may be anything: what it is not is refused elsewhere. */
  of(token: string | ({ readonly id: string } & Defined<StandardSchemaV1>)): StandardSchemaV1 | undefined {
    const given = Object(token) as { readonly id?: string } & Defined<StandardSchemaV1>
    return given[DEFINED] ?? this.#schemas.get(given.id ?? (token as string))
  }
}
