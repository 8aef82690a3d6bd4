/**
 * - `next`: what goes next: a boundary that is ready, or a timer.
 * - `fault`: whether a storage call fails before its effect (`error`), takes effect and fails (`lost`), or takes effect
 *   and is answered later (`late`).
 * - `crash`: whether the process dies `before` a commit, or `after` it and before its acknowledgement.
 */
export type ChoiceKind = 'next' | 'fault' | 'crash'

/** A point where more than one thing can happen. */
export interface Choice {
  readonly kind: ChoiceKind
  /** The boundary it is about; of `next`, the one that would go first. */
  readonly at: string
  /** What can happen, by name. The first is what happens in a FIFO schedule. */
  readonly options: readonly string[]
}

/** Answers the index of what happens. */
export type Choose = (choice: Choice) => number

/** A choice, and what was decided. */
export interface Decision {
  readonly choice: Choice
  readonly index: number
}

/** Where a schedule departs from FIFO: `take` happened where `at` would have gone next, or to the call `at`. */
export interface Deviation {
  readonly kind: ChoiceKind
  readonly at: string
  readonly take: string
}

/** A whole schedule, as far as it is not FIFO. */
export type Trace = readonly Deviation[]

const VERSION = 'v1'
const KINDS: readonly string[] = ['next', 'fault', 'crash'] satisfies readonly ChoiceKind[]

/** The departure from FIFO that a decision is; nothing when it is none. */
export function deviationOf({ choice, index }: Decision): Deviation | undefined {
  const take = choice.options[index]
  return index === 0 || take === undefined ? undefined : { kind: choice.kind, at: choice.at, take }
}

/** One line of text, to be kept and replayed: `v1|next@body/tokens.settle#1>time/parking#1`. */
export function formatTrace(trace: Trace): string {
  const parts = trace.map(({ kind, at, take }) => `${kind}@${escaped(at)}>${escaped(take)}`)
  return [VERSION, ...parts].join('|')
}

/**
 * Reads what {@link formatTrace} wrote.
 *
 * @throws RangeError when it is something else.
 */
export function parseTrace(text: string): Trace {
  const [version, ...parts] = text.split('|')
  if (version !== VERSION)
    throw new RangeError(`Cannot replay "${text}": it does not start with "${VERSION}", copy the whole line`)
  return parts.map((part) => {
    const [, kind = '', at = '', take = ''] = /^(\w+)@([^>]+)>([^>]+)$/.exec(part) ?? []
    if (!isKind(kind)) throw new RangeError(`Cannot replay "${text}": "${part}" is no deviation`)
    return { kind, at: unescaped(at), take: unescaped(take) }
  })
}

function isKind(kind: string): kind is ChoiceKind {
  return KINDS.includes(kind)
}

/** What separates, and what would end a string in TypeScript or in a shell. */
function escaped(label: string): string {
  return label.replace(/[%|@>'"`$\\\n]/g, (character) => encodeURIComponent(character).replace("'", '%27'))
}

function unescaped(text: string): string {
  return decodeURIComponent(text)
}
