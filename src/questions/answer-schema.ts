import type { StandardSchemaV1 } from '../api/standard-schema.ts'

/** The part of the Standard JSON Schema interface that is used here (standardschema.dev/json-schema, version 1). */
interface WritesJsonSchema {
  readonly '~standard': {
    readonly jsonSchema?: {
      readonly input?: (options: { readonly target: 'draft-2020-12' }) => unknown
    }
  }
}

/**
 * The JSON Schema of the answers that a schema takes, if it can say it by its own means; `undefined` if not. What is asked for is
 * the input: storage has the answer as it was given, and the task what the schema makes of it.
 */
export function jsonSchemaOf(schema: StandardSchemaV1): unknown {
  const { input } = (schema as Partial<WritesJsonSchema>)['~standard']?.jsonSchema ?? {}
  try {
    return input?.({ target: 'draft-2020-12' })
  } catch {
    // Such as a date of zod, which JSON has not.
    return undefined
  }
}

/** Whether a schema is one of a library, and not a JSON Schema. ArkType's are functions. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false
  const standard = (schema as Partial<StandardSchemaV1>)['~standard'] as
    Partial<StandardSchemaV1['~standard']> | undefined
  return typeof standard?.validate === 'function'
}
