import type { Codec } from './codec.ts'
import { WaitpointError } from './errors.ts'
import { doesTakeNotes, notesOf, plainValue, withNotes } from './noted-value.ts'
import { messageOf } from '../primitives/message.ts'
import type { RunRecord } from '../contract/records.ts'
import type { TaskDefinition } from './task-definition.ts'
import { fromJson } from './serialize.ts'

/** How payloads, outputs and results become the JSON values that are stored, and back. */
export interface Values {
  /**
   * The value as it is stored. `subject` says what it is, and `name` of what, for the error only.
   *
   * @throws WaitpointError `ERR_NOT_SERIALIZABLE`; nothing has changed by then.
   */
  encode(value: unknown, subject: string, name: string): unknown
  /** The value that was stored. @throws WaitpointError `ERR_CANNOT_DECODE`. */
  decode(stored: unknown): unknown
}

/** As much of them as reading takes. */
export type ReadValues = Pick<Values, 'decode'>

/** Those of an engine without a codec, and of code that knows the notes itself: values are what is stored. */
export const STORED_VALUES: Values = {
  encode: (value) => value,
  decode: (stored) => stored,
}

/** Those of an engine with a codec. */
export function valuesOf(codec: Codec | undefined): Values {
  return codec === undefined ? STORED_VALUES : new CodedValues(codec)
}

/** Those of a task. One of `waitpoint/sdk` is given its values as they are stored. */
export function valuesFor({ options }: Pick<TaskDefinition, 'options'>, values: Values): Values {
  return values !== STORED_VALUES && doesTakeNotes(options) ? STORED_VALUES : values
}

/** The payload of a run as it was triggered, before a schema has checked it. */
export function payloadOf(
  {
    definition,
    record,
  }: {
    readonly definition: Pick<TaskDefinition, 'options'>
    readonly record: Pick<RunRecord, 'payloadJson'>
  },
  values: Values,
): unknown {
  return valuesFor(definition, values).decode(fromJson(record.payloadJson))
}

/** For a list, which one value that cannot be read does not fail: its JSON stands for it. */
export function readableValues(values: Values): ReadValues {
  return {
    decode: (stored) => {
      try {
        return values.decode(stored)
      } catch {
        return plainValue(stored)
      }
    },
  }
}

class CodedValues implements Values {
  readonly #codec: Codec

  constructor(codec: Codec) {
    this.#codec = codec
  }

  encode(value: unknown, subject: string, name: string): unknown {
    if (value === undefined) return undefined
    let answer: unknown
    try {
      answer = this.#codec.serialize(value)
    } catch (cause) {
      throw new WaitpointError(
        'ERR_NOT_SERIALIZABLE',
        `Cannot store ${subject} "${name}": the codec cannot write it: ${messageOf(cause)}`,
        { cause },
      )
    }
    if (typeof answer !== 'object' || answer === null || !('json' in answer) || answer.json === undefined)
      throw new WaitpointError(
        'ERR_NOT_SERIALIZABLE',
        `Cannot store ${subject} "${name}": the codec answered no { json, meta } for it`,
      )
    return withNotes(answer)
  }

  decode(stored: unknown): unknown {
    const noted = notesOf(stored)
    if (noted === undefined) return stored
    // A value that only looks like one with notes.
    if (noted.meta === undefined) return noted.json
    try {
      return this.#codec.deserialize(noted)
    } catch (cause) {
      throw new WaitpointError(
        'ERR_CANNOT_DECODE',
        `Cannot read a stored value: the codec cannot read its notes: ${messageOf(cause)}`,
        { cause },
      )
    }
  }
}
