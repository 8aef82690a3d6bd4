import type { SchemaResult, StandardSchemaV1 } from '../../api/standard-schema.ts'
import { isLeftOut } from './unchecked.ts'
import type { Untyped } from './untyped.ts'
import { decodeValue } from './values.ts'

/** A JSON Schema. */
export interface JSONSchema {
  [keyword: string]: Untyped
}

interface Zod<Input, Output> {
  readonly _input: Input
  readonly _output: Output
  parseAsync(value: unknown): Promise<Output>
}

/** A function that knows its schema, as valibot has it. */
interface Valibot<Input, Output> {
  readonly schema: { readonly _types?: { input: Input; output: Output } }
}

interface Arktype<Input, Output> {
  readonly inferIn: Input
  readonly infer: Output
}

type Parser<Output> =
  | ((value: Untyped) => Output | Promise<Output>)
  | { parse(value: Untyped): Output }
  | { create(value: unknown): Output }
  | { validateSync(value: unknown): Output }
  | { assert(value: unknown): asserts value is Output }

/** What checks the payload of a `schemaTask`: a Standard Schema, or a schema of an older make, or a function. */
export type TaskSchema =
  StandardSchemaV1<Untyped, Untyped> | Zod<Untyped, Untyped> | Arktype<Untyped, Untyped> | Parser<Untyped>

interface Sides<In, Out> {
  readonly in: In
  readonly out: Out
}

type SidesOf<Schema> =
  Schema extends StandardSchemaV1<infer In, infer Out>
    ? Sides<In, Out>
    : Schema extends Zod<infer In, infer Out>
      ? Sides<In, Out>
      : Schema extends Valibot<infer In, infer Out>
        ? Sides<In, Out>
        : Schema extends Arktype<infer In, infer Out>
          ? Sides<In, Out>
          : Schema extends Parser<infer Both>
            ? Sides<Awaited<Both>, Awaited<Both>>
            : never

/** The payload that a task with this schema is triggered with. */
export type SchemaIn<Schema extends TaskSchema | undefined> = Schema extends TaskSchema
  ? SidesOf<Schema>['in']
  : unknown

/** The payload that a task with this schema is called with. */
export type SchemaOut<Schema extends TaskSchema | undefined> = Schema extends TaskSchema
  ? SidesOf<Schema>['out']
  : unknown

type Check = (value: unknown) => SchemaResult<unknown> | Promise<SchemaResult<unknown>>

/**
 * The schema as the engine uses it: it reads a stored payload and checks it.
 *
 * @throws TypeError for a schema of a make that is not known.
 */
export function storedSchema(schema: TaskSchema, taskId: string): StandardSchemaV1<Untyped, Untyped> {
  const check = isSchemaLike(schema) ? checkOf(schema) : undefined
  if (check === undefined)
    throw new TypeError(
      `Cannot define task "${taskId}": its schema is no Standard Schema, no function, and has no parse, create, validateSync or assert`,
    )
  return {
    '~standard': {
      version: 1,
      vendor: 'waitpoint',
      validate: (stored) => (isLeftOut(taskId) ? { value: stored } : check(decodeValue(stored))),
    },
  }
}

function isSchemaLike(schema: unknown): boolean {
  return typeof schema === 'function' || (typeof schema === 'object' && schema !== null)
}

type Method = (value: unknown) => unknown

function checkOf(schema: TaskSchema): Check | undefined {
  if ('~standard' in schema) return (value) => schema['~standard'].validate(value)
  // Which methods it has is only known by looking.
  const methods = schema as unknown as Readonly<Record<string, unknown>>
  const method = (name: string): Method | undefined => {
    const found = methods[name]
    return typeof found === 'function' ? (value) => found.call(schema, value) as unknown : undefined
  }
  const assert = method('assert')
  const asserting: Method | undefined = assert && ((value) => assert(value) ?? value)
  if (typeof schema === 'function') return checking(asserting ?? (schema as Method))
  const parse =
    method('parseAsync') ?? method('parse') ?? method('validateSync') ?? method('create') ?? asserting
  return parse && checking(parse)
}

function checking(parse: Method): Check {
  return async (value) => {
    try {
      return { value: await parse(value) }
    } catch (error) {
      return { issues: [{ message: error instanceof Error ? error.message : String(error) }] }
    }
  }
}
