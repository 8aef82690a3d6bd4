import type { StandardSchemaV1 } from '../api/standard-schema.ts'

/** The part of the Standard JSON Schema interface that is used here (standardschema.dev/json-schema, version 1). */
interface WritesJsonSchema {
  readonly '~standard': {
    readonly jsonSchema?: {
      readonly input?: (options: {
        readonly target: 'draft-2020-12'
        readonly libraryOptions?: Readonly<Record<string, unknown>>
      }) => unknown
    }
  }
}

/**
 * The JSON Schema of the answers that a schema takes, if it can say it by its own means; `undefined` if not. What is asked for is
 * the input: storage has the answer as it was given, and the task what the schema makes of it.
 */
export function jsonSchemaOf(schema: StandardSchemaV1): unknown {
  const { input } = (schema as Partial<WritesJsonSchema>)['~standard']?.jsonSchema ?? {}
  const flagged = flaggedOf((schema as { readonly json?: unknown }).json)
  // zod calls it for each part. Other libraries know no such option, and refuse flags or say them in `json`.
  const override = ({ zodSchema }: ZodPart): void => {
    const { def } = zodSchema._zod
    for (const { pattern } of [def, ...(def.checks ?? []).map((check) => check._zod.def)])
      if (pattern instanceof RegExp && FLAGS.test(pattern.flags)) flagged.add(pattern.source)
  }
  try {
    const json = input?.({ target: 'draft-2020-12', libraryOptions: { override } })
    return flagged.size === 0 ? json : withoutPatterns(json, flagged)
  } catch {
    // Such as a date of zod, which JSON has not.
    return undefined
  }
}

/** Flags that change what a pattern matches. JSON Schema has none. */
const FLAGS = /[ims]/

interface ZodDefinition {
  readonly pattern?: unknown
  readonly checks?: readonly { readonly _zod: { readonly def: ZodDefinition } }[]
}

interface ZodPart {
  readonly zodSchema: { readonly _zod: { readonly def: ZodDefinition } }
}

/** The patterns with flags of a type of ArkType, as its `json` has them. */
function flaggedOf(json: unknown): Set<string> {
  const found = new Set<string>()
  JSON.stringify(json ?? null, (_, value: unknown) => {
    const { rule, flags } = Object(value) as { readonly rule?: unknown; readonly flags?: string }
    if (typeof rule === 'string' && FLAGS.test(flags ?? '')) found.add(rule)
    return value
  })
  return found
}

/** Without flags they would refuse what the schema takes: they are left to it. */
function withoutPatterns(json: unknown, patterns: ReadonlySet<string>): unknown {
  return JSON.parse(
    JSON.stringify(json, (key, value: unknown) =>
      key === 'pattern' && patterns.has(value as string) ? undefined : value,
    ),
  )
}

/** Whether a schema is one of a library, and not a JSON Schema. ArkType's are functions. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false
  const standard = (schema as Partial<StandardSchemaV1>)['~standard'] as
    Partial<StandardSchemaV1['~standard']> | undefined
  return typeof standard?.validate === 'function'
}
