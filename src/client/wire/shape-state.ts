import {
  OLDER_SHAPE_HANDLE,
  OLDER_SHAPE_OFFSET,
  SHAPE_CURSOR,
  SHAPE_HANDLE,
  SHAPE_OFFSET,
  SHAPE_SCHEMA,
} from '../../hosted/headers.ts'
import { MUST_REFETCH, UP_TO_DATE } from '../../hosted/shapes.ts'
import { unreadable } from '../connection/api-error.ts'
import type { ApiRequest } from '../connection/transport.ts'
import { WireRecord } from './record.ts'

const BEGINNING = '-1'

/** The state of a long-poll subscription: one row, and the position in its history. */
export class ShapeState {
  #row: Readonly<Record<string, unknown>> | undefined
  #offset = BEGINNING
  #handle: string | undefined
  #cursor: string | undefined
  #schema: ShapeSchema = {}
  #isCurrent = false

  /** The row; `undefined` until it is complete. */
  get row(): Readonly<Record<string, unknown>> | undefined {
    return this.#isCurrent ? this.#row : undefined
  }

  /** Whether the state is complete. The next answer then waits for a change. */
  get isCurrent(): boolean {
    return this.#isCurrent
  }

  /** The query of the next poll. */
  get query(): NonNullable<ApiRequest['query']> {
    return {
      log: 'full',
      offset: this.#offset,
      handle: this.#handle,
      ...(this.#isCurrent ? { live: 'true', cursor: this.#cursor } : {}),
    }
  }

  /** Applies an answer. */
  take(headers: Headers, messages: unknown): void {
    if (!Array.isArray(messages)) throw unreadable('the updates of a run', { body: messages })
    this.#offset = headers.get(SHAPE_OFFSET) ?? headers.get(OLDER_SHAPE_OFFSET) ?? this.#offset
    this.#handle = headers.get(SHAPE_HANDLE) ?? headers.get(OLDER_SHAPE_HANDLE) ?? this.#handle
    this.#cursor = headers.get(SHAPE_CURSOR) ?? this.#cursor
    if (headers.has(SHAPE_SCHEMA)) this.#schema = readSchema(headers.get(SHAPE_SCHEMA))
    if (this.#offset === BEGINNING) throw unreadable('the updates of a run: the position is missing')
    for (const message of messages) this.#apply(new WireRecord(message, 'an update of a run'))
  }

  /** Starts over, because the state is no longer valid. */
  forget(): void {
    this.#offset = BEGINNING
    this.#handle = undefined
    this.#cursor = undefined
    this.#row = undefined
    this.#isCurrent = false
  }

  #apply(message: WireRecord): void {
    const headers = message.record('headers')
    const control = headers.text('control')
    if (control === MUST_REFETCH) this.forget()
    if (control === UP_TO_DATE) this.#isCurrent = true
    const operation = headers.text('operation')
    if (operation !== 'insert' && operation !== 'update') return
    const columns = readColumns(message.object('value') ?? {}, this.#schema)
    // An update may contain changed columns only.
    this.#row = operation === 'insert' ? columns : { ...this.#row, ...columns }
  }
}

/** The types of columns, as the realtime protocol declares them. */
export type ShapeSchema = Readonly<Record<string, { readonly type?: string; readonly dims?: number }>>

/** The schema in a header; an empty one if there is none that can be parsed. */
function readSchema(header: string | null): ShapeSchema {
  try {
    return Object(JSON.parse(header ?? '{}')) as ShapeSchema
  } catch {
    return {}
  }
}

/** Parses columns by their types. A column without a type, or that is not text, is kept. */
function readColumns(
  columns: Readonly<Record<string, unknown>>,
  schema: ShapeSchema,
): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, value]) => {
    const column = schema[name]
    return [name, typeof value === 'string' && column !== undefined ? readColumn(value, column) : value]
  })
  return Object.fromEntries(entries) as Record<string, unknown>
}

function readColumn(text: string, { type = 'text', dims = 0 }: ShapeSchema[string] & object): unknown {
  if (dims > 0) return readArray(text)
  if (/^(?:int|float)\d$/.test(type)) return Number(text)
  if (type === 'bool') return text === 't' || text === 'true'
  return type === 'json' || type === 'jsonb' ? JSON.parse(text) : text
}

/** A Postgres array of texts: `{plain,"with \"quotes\""}`. */
function readArray(text: string): readonly string[] {
  const items = text.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? []
  return items.map((item) => (item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/g, '$1') : item))
}
