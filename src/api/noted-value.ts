/**
 * Values that JSON alone cannot tell, such as dates and maps, as engines with a codec and tasks of `waitpoint/sdk` store them: as JSON
 * with notes, in the form of superjson. All others show the JSON, and pass the notes on to readers that know them.
 */

/** Under this name, and no other, lies such a value. */
export const NOTED = '$superjson'

/** The JSON of a value, and the notes on it. */
export interface NotedValue {
  readonly json: unknown
  readonly meta?: unknown
}

/** In the options of a task: its payload may be stored with notes. */
export const TAKES_NOTES: unique symbol = Symbol('takes notes')

/** The options of a task whose payload may be stored with notes. */
export interface TakesNotes {
  /** Gives the value that is stored. Throws for notes that are not those of superjson. */
  readonly [TAKES_NOTES]: (stored: unknown) => unknown
}

/** Whether the options of a task say so. */
export function doesTakeNotes(options: object | undefined): options is TakesNotes {
  return options !== undefined && TAKES_NOTES in options
}

/** Under this name a namespace of the module has the one that takes and answers values as they are stored. */
export const STORED: unique symbol = Symbol('stored')

/** The namespace of the module for code that knows the notes. A codec of the engine has no part in it. */
export function asStored<Namespace extends object>(namespace: Namespace): Namespace {
  const { [STORED]: stored } = namespace as { readonly [STORED]?: Namespace }
  return stored ?? namespace
}

/** The parts of a stored value, if it has notes. */
export function notesOf(stored: unknown): NotedValue | undefined {
  if (typeof stored !== 'object' || stored === null || !(NOTED in stored)) return undefined
  const { [NOTED]: noted } = stored
  if (Object.keys(stored).length !== 1) return undefined
  return typeof noted === 'object' && noted !== null && 'json' in noted ? noted : undefined
}

/** A stored value without notes: what it is in JSON. */
export function plainValue(stored: unknown): unknown {
  const noted = notesOf(stored)
  return noted === undefined ? stored : noted.json
}

/** A value as it is stored for a task that takes notes. */
export function withNotes({ json, meta }: NotedValue): unknown {
  if (meta === undefined && notesOf(json) === undefined) return json
  return { [NOTED]: meta === undefined ? { json } : { json, meta } }
}
