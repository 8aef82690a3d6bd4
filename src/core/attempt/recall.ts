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

/** A question of an earlier execution that is known by its name, or an effect, which is known by its key. */
interface Named {
  readonly key: string
  readonly kind: string
  readonly description: string
  isTaken: boolean
}

/** Why a question cannot be recalled: another call was made at its place or under its name, or several fit alike. */
export interface RecallMismatch {
  readonly asked: string
  /** The key of the question of the earlier execution. */
  readonly key: string
  readonly reason: 'place' | 'name' | 'ambiguous'
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

/** The key of a wait with a name, such as `1/name,for,abcdef/lunch`. Without a kind there is no wait: it only tells. */
export function namedKey(
  policyAttempt: number,
  { kind, name, told }: { readonly kind?: string; readonly name: string; readonly told?: string | undefined },
): string {
  const parts = [NAME, kind, told].filter((part) => part !== undefined)
  return `${policyAttempt}/${parts.join(',')}/${name}`
}

const NAME = 'name'

/** The kind in the second part of the key of a named wait, and what that tells. What only tells has no kind. */
function nameParts(part: string): { readonly kind: string | undefined; readonly told: string | undefined } {
  const [, ...rest] = part.split(',')
  const kind = KINDS.find((one) => one === rest[0])
  return { kind, told: rest.slice(kind === undefined ? 0 : 1).join(',') || undefined }
}

/** What keys of both kinds tell of the answers before them, those of this attempt of the policy. */
function toldIn(value: string, policyAttempt: number): string | undefined {
  const [attempt, kind, , , , told] = value.split('/', 6)
  if (Number(attempt) !== policyAttempt || kind === undefined) return undefined
  return isNamed(kind) ? nameParts(kind).told : told
}

/** The name in a key made by {@link namedKey}. */
export function readName(
  value = '',
): { readonly policyAttempt: number; readonly name: string; readonly kind: string | undefined } | undefined {
  const [attempt = '', part = ''] = value.split('/', 2)
  if (!isNamed(part)) return undefined
  const name = value.slice(`${attempt}/${part}/`.length)
  return { policyAttempt: Number(attempt), name, kind: nameParts(part).kind }
}

/** The key of `once` in the key of its record. */
export function readEffect(value = ''): string | undefined {
  return value.startsWith(EFFECT) ? value.slice(EFFECT.length) : undefined
}

/** The key of the record of an effect: of all attempts of the policy. */
export function effectKey(name: string): string {
  return EFFECT + name
}

const EFFECT = 'once/'

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

/** The name of the error of a run that stands still and is left to the code that it began on: that may take it up. */
export const OTHER_VERSION = 'VersionMismatchError'

/** Equal sleeps are one question: whichever of them comes first, no answer is told apart from another. */
const SLEEPS: readonly string[] = ['for', 'until']

/**
 * The unnamed questions that earlier executions of an attempt have asked, for the execution that asks them again. An
 * answer goes to the question it was given for, or to none: see docs/changing-code.md.
 */
export class Recall {
  readonly #byPlace = new Map<string, Recalled[]>()
  readonly #byName = new Map<string, Named[]>()
  /** Asks anew what does not fit, as `runs.continueWith` has decided. */
  readonly #isLenient: boolean

  /** Of the code that earlier executions were of. */
  readonly version: string | undefined
  /** Something was asked without a name that no earlier execution has: only the code of this one knows it. */
  hasNew = false

  /** @param since When this attempt of the policy began. */
  constructor(
    asked: RunAsked,
    {
      policyAttempt,
      version,
      since = 0,
    }: {
      readonly policyAttempt: number
      readonly version?: string | undefined
      readonly since?: number
    },
  ) {
    this.version = version
    this.#isLenient = version === undefined
    for (const { key, tags, createdAt } of asked.tokens) {
      const effect = readEffect(key?.value)
      if (effect !== undefined)
        this.#addNamed(effect, {
          key: effectKey(effect),
          kind: 'once',
          description: describe('once', [], createdAt),
          // That of an earlier attempt has a result for this one, which need not ask for it.
          isTaken: createdAt < since,
        })
      else this.#add(policyAttempt, key?.value, (kind) => describe(kind, tags, createdAt))
    }
    for (const { key, taskId, createdAt } of asked.runs)
      this.#add(policyAttempt, key?.value, () =>
        describe(`triggerAndWait of task "${taskId}"`, [], createdAt),
      )
  }

  /** The key of the wait with a name in an earlier execution. The name is that of one kind of wait. */
  named(name: string, kind: string): string | RecallMismatch | undefined {
    const known = this.#byName.get(name) ?? []
    const found = known.find((one) => one.kind === kind)
    if (found !== undefined) {
      found.isTaken = true
      return found.key
    }
    const other = this.#isLenient ? undefined : known.find(({ isTaken }) => !isTaken)
    return other && { asked: other.description, key: other.key, reason: 'name' }
  }

  /** The question without a name that stands at the place of another call, and was not asked again. */
  at(place: string, position: number): RecallMismatch | undefined {
    if (this.#isLenient) return undefined
    const here = this.#byPlace.get(place) ?? []
    const open = here.find((one) => one.takenBy === undefined && one.position === position)
    return open && { asked: open.description, key: open.key, reason: 'place' }
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
    // Of several calls that one piece of code makes at a place, a crash may have kept any.
    const open = equal.length === 0 ? this.at(place, position) : undefined
    if (open !== undefined) return open
    if (!this.#isLenient) {
      const ambiguous = SLEEPS.includes(kind)
        ? undefined
        : equal.find((one) => isShared(one, equal, continuation))
      if (ambiguous !== undefined)
        return { asked: ambiguous.description, key: ambiguous.key, reason: 'ambiguous' }
    }
    const found = equal.find((one) => one.index === index)
    if (found === undefined) this.hasNew = true
    else found.takenBy = continuation
    return found?.key
  }

  #addNamed(name: string, named: Named): void {
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), named])
  }

  #add(policyAttempt: number, value: string | undefined, description: (kind: string) => string): void {
    const question = readQuestionKey(value)
    const named = readName(value)
    // Without a kind it only tells.
    if (value !== undefined && named?.policyAttempt === policyAttempt && named.kind !== undefined) {
      const { name, kind } = named
      this.#addNamed(name, { key: value, kind, description: description(kind), isTaken: false })
    }
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
  once: 'once',
  forToken: 'wait.forToken',
}
const KINDS: readonly string[] = Object.keys(CALLS)

/** The answers that the questions of an attempt have told. */
export function toldBefore({ tokens, runs }: RunAsked, policyAttempt: number): ToldAnswers {
  const asked = [...tokens, ...runs].toSorted((one, other) => (ageOf(one.id) < ageOf(other.id) ? -1 : 1))
  const told = asked.flatMap(({ key, tags }) => {
    const value = key?.value ?? ''
    // The tags of others are those of users.
    const texts = readEffect(value) === undefined ? [value] : tags
    return texts.flatMap((text) => toldIn(text, policyAttempt) ?? [])
  })
  return readTold(told)
}

/** A question in the words of the task: `wait.createToken, tags manager, asked at 2030-01-31T12:00:00.000Z`. */
function describe(kind: string, tags: readonly string[], createdAt: number): string {
  const tagged = tags.length === 0 ? '' : `, tags ${tags.join(' ')}`
  return `${CALLS[kind] ?? kind}${tagged}, asked at ${new Date(createdAt).toISOString()}`
}
