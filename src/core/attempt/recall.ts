import type { RunAsked } from '../../contract/storage.ts'
import { ageOf, readTold, type ToldAnswers } from './answer-order.ts'
import type { CallCounts } from './places.ts'

/** A question as its key tells it: which kind of wait, where in the flow, with which content. */
export interface Question extends CallCounts {
  readonly kind: string
  readonly place: string
  readonly content: number
}

/** A question of an earlier execution. */
interface Recalled extends Question {
  readonly key: string
  readonly description: string
  /** The continuation of this execution that asked it again. */
  takenBy: number | undefined
}

/** Why a question cannot be recalled: the two do not fit, or several fit alike. */
export interface RecallMismatch {
  readonly asked: string
  /** The key of the question of the earlier execution. */
  readonly key: string
  readonly reason: 'other' | 'ambiguous'
}

/**
 * The key of a question: of this attempt of the policy, so that a retry asks anew. `told`: which answers it comes after, see
 * {@link AnswerOrder.tell}.
 */
export function questionKey(
  policyAttempt: number,
  { kind, place, content, continuation, index, position }: Question,
  told?: string,
): string {
  const key = `${policyAttempt}/${kind}/${place}/${content}`
  const order = position === 0 ? '' : `${continuation}.${index}.${position}`
  if (told === undefined) return order === '' ? key : `${key}/${order}`
  return `${key}/${order}/${told}`
}

/** The key of a wait with a name. */
export function namedKey(policyAttempt: number, name: string, told?: string): string {
  return `${policyAttempt}/${told === undefined ? NAME : `${NAME},${told}`}/${name}`
}

const NAME = 'name'

/** What keys of both kinds tell of the answers before them, those of this attempt of the policy. */
function toldIn(value: string, policyAttempt: number): string | undefined {
  const [attempt, kind, , , , told] = value.split('/', 6)
  if (Number(attempt) !== policyAttempt || kind === undefined) return undefined
  return isNamed(kind) ? kind.slice(NAME.length + 1) || undefined : told
}

/** The name in a key made by {@link namedKey}. */
export function readName(value = ''): { readonly policyAttempt: number; readonly name: string } | undefined {
  const [attempt = '', kind = ''] = value.split('/', 2)
  if (!isNamed(kind)) return undefined
  return { policyAttempt: Number(attempt), name: value.slice(`${attempt}/${kind}/`.length) }
}

function isNamed(kind: string): boolean {
  return kind === NAME || kind.startsWith(`${NAME},`)
}

/** The question of a key made by {@link questionKey}; nothing for a name, which may have any character in it. */
export function readQuestionKey(
  value: string | undefined,
): (Question & { readonly policyAttempt: number }) | undefined {
  const [attempt, kind, place, content, order = ''] = value?.split('/') ?? []
  if (kind === undefined || isNamed(kind) || place === undefined || content === undefined) return undefined
  const [continuation = 0, index = 0, position = 0] = order.split('.').map(Number)
  return {
    policyAttempt: Number(attempt),
    kind,
    place,
    content: Number(content),
    continuation,
    index,
    position,
  }
}

/** Equal sleeps are one question: whichever of them comes first, no answer is told apart from another. */
const SLEEPS: readonly string[] = ['for', 'until']

/**
 * The unnamed questions that earlier executions of an attempt have asked, for the execution that asks them again. An
 * answer goes to the question it was given for, or to none: see docs/changing-code.md.
 */
export class Recall {
  readonly #byPlace = new Map<string, Recalled[]>()
  /** The keys of waits with names. */
  readonly #byName = new Map<string, string>()
  /** By kind, how many questions had no place that is known. */
  readonly #calls = new Map<string, number>()
  /** Asks anew what does not fit, as `runs.continueWith` has decided. */
  readonly #isLenient: boolean

  constructor(asked: RunAsked, { policyAttempt, isLenient }: { policyAttempt: number; isLenient: boolean }) {
    this.#isLenient = isLenient
    for (const { key, tags, createdAt } of asked.tokens)
      this.#add(policyAttempt, key?.value, (kind) => describe(kind, tags, createdAt))
    for (const { key, taskId, createdAt } of asked.runs)
      this.#add(policyAttempt, key?.value, () =>
        describe(`triggerAndWait of task "${taskId}"`, [], createdAt),
      )
  }

  /** The key of the wait with a name in an earlier execution. */
  named(name: string): string | undefined {
    return this.#byName.get(name)
  }

  /** The number of places with questions. */
  get size(): number {
    return this.#byPlace.size
  }

  /** The key of this question in an earlier execution; nothing when none has asked it. */
  find(question: Question): string | RecallMismatch | undefined {
    const { kind, place, content, continuation, index, position } = question
    const here = this.#byPlace.get(place) ?? []
    const equal = here.filter((one) => one.kind === kind && one.content === content)
    if (!this.#isLenient) {
      // Of several calls that one piece of code makes at a place, a crash may have kept any.
      const open =
        equal.length === 0
          ? here.find((one) => one.takenBy === undefined && one.position === position)
          : undefined
      if (open !== undefined) return { asked: open.description, key: open.key, reason: 'other' }
      const ambiguous = SLEEPS.includes(kind)
        ? undefined
        : equal.find((one) => isShared(one, equal, continuation))
      if (ambiguous !== undefined)
        return { asked: ambiguous.description, key: ambiguous.key, reason: 'ambiguous' }
    }
    const found = equal.find((one) => one.index === index) ?? this.#byOrder(kind)
    if (found !== undefined) found.takenBy = continuation
    return found?.key
  }

  /** The question of a run that was stored by an older version, which numbered the calls of each kind. */
  #byOrder(kind: string): Recalled | undefined {
    if (!this.#isLenient) return undefined
    const order = this.#calls.get(kind) ?? 0
    this.#calls.set(kind, order + 1)
    return this.#byPlace.get(String(order))?.find((one) => one.kind === kind)
  }

  #add(policyAttempt: number, value: string | undefined, description: (kind: string) => string): void {
    const question = readQuestionKey(value)
    const named = readName(value)
    if (value !== undefined && named?.policyAttempt === policyAttempt) this.#byName.set(named.name, value)
    if (value === undefined || question?.policyAttempt !== policyAttempt) return
    const { kind, place } = question
    const recalled: Recalled = {
      ...question,
      key: value,
      description: description(kind),
      takenBy: undefined,
    }
    this.#byPlace.set(place, [...(this.#byPlace.get(place) ?? []), recalled])
  }
}

/** Whether several continuations have asked this at one place: the order they come in says nothing about which is which. */
function isShared(one: Recalled, equal: readonly Recalled[], continuation: number): boolean {
  const isSharedBefore = equal.some((other) => other.continuation !== one.continuation)
  return isSharedBefore || (one.takenBy !== undefined && one.takenBy !== continuation)
}

/** The calls that ask questions, by kind. */
export const CALLS: Readonly<Record<string, string>> = {
  token: 'wait.createToken',
  for: 'wait.for',
  until: 'wait.until',
  trigger: 'triggerAndWait',
}

/** The answers that the questions of an attempt have told. */
export function toldBefore({ tokens, runs }: RunAsked, policyAttempt: number): ToldAnswers {
  const asked = [...tokens, ...runs].toSorted((one, other) => (ageOf(one.id) < ageOf(other.id) ? -1 : 1))
  const told = asked.flatMap(({ key, tags }) => {
    const value = key?.value ?? ''
    // The tags of others are those of users.
    const texts = value.startsWith('once/') ? tags : [value]
    return texts.flatMap((text) => toldIn(text, policyAttempt) ?? [])
  })
  return readTold(told)
}

/** A question in the words of the task: `wait.createToken, tags manager, asked at 2030-01-31T12:00:00.000Z`. */
function describe(kind: string, tags: readonly string[], createdAt: number): string {
  const tagged = tags.length === 0 ? '' : `, tags ${tags.join(' ')}`
  return `${CALLS[kind] ?? kind}${tagged}, asked at ${new Date(createdAt).toISOString()}`
}
