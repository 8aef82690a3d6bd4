/**
 * - `next`: the next boundary or timer.
 * - `fault`: whether a storage call fails before its effect (`error`), takes effect and fails (`lost`), or takes effect
 *   and is answered later (`late`).
 * - `slow`: whether a call is held, while other things go first: all that is left to do at its `instant`, that of the next
 *   `timer` too, or all until the `end`.
 * - `crash`: whether the process dies `before` a commit, or `after` it and before its acknowledgement.
 */
export type ChoiceKind = 'next' | 'slow' | 'fault' | 'crash'

/** A point at which more than one thing can happen. */
export interface Choice {
  readonly kind: ChoiceKind
  /** The boundary of the choice; for `next`, the first in FIFO order. */
  readonly at: string
  /** The possible events by name, the FIFO one first. */
  readonly options: readonly string[]
}

/** Returns the index of the chosen event. */
export type Choose = (choice: Choice) => number

/** A choice and its result. */
export interface Decision {
  readonly choice: Choice
  readonly index: number
  /** The number of steps before it. */
  readonly step: number
}

/** A deviation from FIFO: `take` happened where `at` was next, or happened to the call `at`. */
export interface Deviation {
  readonly kind: ChoiceKind
  readonly at: string
  readonly take: string
}

/** A whole schedule, as its deviations from FIFO. */
export type Trace = readonly Deviation[]

const VERSION = 'v1'
const KINDS: readonly string[] = ['next', 'slow', 'fault', 'crash'] satisfies readonly ChoiceKind[]

/** The deviation that a decision makes; `undefined` if it follows FIFO. */
export function deviationOf({ choice, index }: Pick<Decision, 'choice' | 'index'>): Deviation | undefined {
  const take = choice.options[index]
  return index === 0 || take === undefined ? undefined : { kind: choice.kind, at: choice.at, take }
}

/** The deviations that a schedule actually had. */
export function traceOf({ decisions }: { readonly decisions: readonly Decision[] }): Trace {
  const trace: Deviation[] = []
  for (const decision of decisions) {
    const deviation = deviationOf(decision)
    if (deviation !== undefined) trace.push(deviation)
  }
  return trace
}

/** The trace as one line of text, for replay: `v1|next@body/tokens.settle#1>time/parking#1`. */
export function formatTrace(trace: Trace): string {
  const parts = trace.map(({ kind, at, take }) => `${kind}@${escaped(at)}>${escaped(take)}`)
  return [VERSION, ...parts].join('|')
}

/**
 * Parses the text of {@link formatTrace}.
 *
 * @throws RangeError for any other text.
 */
export function parseTrace(text: string): Trace {
  const [version, ...parts] = text.split('|')
  if (version !== VERSION)
    throw new RangeError(`Cannot replay "${text}": it does not start with "${VERSION}"; copy the whole line`)
  return parts.map((part) => {
    const [, kind = '', at = '', take = ''] = /^(\w+)@([^>]+)>([^>]+)$/.exec(part) ?? []
    if (!isKind(kind)) throw new RangeError(`Cannot replay "${text}": "${part}" is not a deviation`)
    return { kind, at: unescaped(at), take: unescaped(take) }
  })
}

function isKind(kind: string): kind is ChoiceKind {
  return KINDS.includes(kind)
}

/** Escapes separators, and quotes that would end a string in TypeScript or in a shell. */
function escaped(label: string): string {
  return label.replace(/[%|@>'"`$\\\n]/g, (character) => encodeURIComponent(character).replace("'", '%27'))
}

function unescaped(text: string): string {
  return decodeURIComponent(text)
}
